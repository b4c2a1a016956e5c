"""Oracle: the names and bytes in a folder, by real processes. Sees a file that is half another's, and one too many."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

from resaudit.base.errors import MachineError
from resaudit.base.files import remove_partial, written_whole
from tests.claims.made import mentions
from tests.refusals import refused


def test_what_the_disk_does_not_confirm_gets_no_name(tmp_path: Path) -> None:
    """Some file systems say only when asked to write all out that they cannot; a device always says so."""
    path = tmp_path / "result"
    path.write_text("old")
    with refused(MachineError, "free space or allow it, or") as caught, written_whole(path) as temporary:
        temporary.symlink_to("/dev/null")
    assert mentions(str(caught.value), "disk", os.strerror(errno.EINVAL))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys
from pathlib import Path
from resaudit.base.files import written_whole
with written_whole(Path(sys.argv[1])) as temporary:
    temporary.write_text("theirs")
    print("half", flush=True)
    sys.stdin.read()
"""


def writer(path: Path) -> subprocess.Popen[str]:
    """A process in the midst of writing, until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    return process


def test_two_writers_of_one_file_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    """A job whose Snakemake was killed may still be at work when the next run computes the same."""
    path = tmp_path / "result"
    other = writer(path)
    with written_whole(path) as temporary:
        temporary.write_text("ours")
    assert path.read_text() == "ours"
    other.communicate()
    assert other.returncode == 0
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    names = ("mine.part", ".hidden", "part", "deep/.lock", "deep/result", ".spot-check/train/.of_one_at_work.1.part")
    kept = [tmp_path / name for name in names]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for folder in (tmp_path, tmp_path / "deep"):
        killed = writer(folder / "written")
        os.kill(killed.pid, signal.SIGKILL)
        killed.communicate()
    there = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert len(there) == len(kept) + 2
    remove_partial(tmp_path, spared=[".spot-check"])
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(kept)
