"""Oracle: the papers' own texts, where a folder has them, and a made PDF. Sees a sentence that no paper has.

The texts are not in the repository; RESAUDIT_PAPERS names their folder, else it is looked for beside the checkout.
"""

import os
import shutil
from pathlib import Path

import pytest

from resaudit.claims.sources import checked_claims, find, sentence_of, sentences_of, text_of
from resaudit.plan.composition import load
from tests.conftest import CHECKOUT, Completed, in_process
from tests.refusals import assert_exits

TEXTS = Path(os.environ.get("RESAUDIT_PAPERS", CHECKOUT.parent / "shared" / "papers"))
PAPERS = ("demystifying_resnet", "identity_matters", "shortcut_importance", "stable_scaling")
SAID = "The share of heads is close to the probability of heads, as it has to be."


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_has_its_sentences_or_says_why_it_has_none(paper: str) -> None:
    assert list(sentences_of(paper)) == list(load().claims_of(paper))


@pytest.mark.skipif(not TEXTS.is_dir(), reason="no folder of the papers' texts; RESAUDIT_PAPERS names one")
@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_have_the_sentences(paper: str) -> None:
    texts = [text_of(file) for file in TEXTS.glob(f"{paper}*.txt")]
    wanted = {each for given in sentences_of(paper).values() if not isinstance(given, str) for each in given}
    assert wanted
    assert any(find(wanted, text).keys() == wanted for text in texts)


def test_a_pdf_with_ligatures_and_hyphens_has_the_sentence(tmp_path: Path) -> None:
    pytest.importorskip("pypdf", reason="no pypdf here: pip install pypdf")
    from matplotlib.figure import Figure

    lines = "In our ﬁrst experi-\nments the share of heads is close\nto the probability of HEADS; see [3]."
    page = Figure()
    page.text(0.1, 0.5, lines)
    page.savefig(tmp_path / "paper.pdf")
    sentence = sentence_of("first experiments the share of heads is close to the probability of heads")
    assert list(find([sentence], text_of(tmp_path / "paper.pdf"))) == [sentence]
    assert find([sentence_of("HEADS; see [3]")], text_of(tmp_path / "paper.pdf"))  # the last words
    assert not find([sentence_of("the share of tails is close")], text_of(tmp_path / "paper.pdf"))
    (tmp_path / "damaged.pdf").write_bytes((tmp_path / "paper.pdf").read_bytes()[:900])
    assert_exits(in_process("sources", "damaged.pdf", cwd=tmp_path), "damaged.pdf")


def test_an_encrypted_pdf_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pypdf = pytest.importorskip("pypdf", reason="no pypdf here: pip install pypdf")

    def needs(_file: Path) -> None:
        raise pypdf.errors.DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(pypdf, "PdfReader", needs)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7")
    assert_exits(in_process("sources", "paper.pdf", cwd=tmp_path), "paper.pdf", "cryptography")


@pytest.mark.usefixtures("no_paper_stays")
def test_what_was_found_is_shown_and_recorded_until_the_sentences_change(tmp_path: Path) -> None:
    folder = shutil.copytree(CHECKOUT / "examples", tmp_path / "papers")
    sentences, results = folder / "config" / "paper" / "adam" / "sentences.yaml", tmp_path / "results"
    (tmp_path / "copy.txt").write_text(f"Abstract. {SAID.replace('close', f'clo-{chr(10)}se')} End.", encoding="utf-8")
    (tmp_path / "other.txt").write_text("Something else.", encoding="utf-8")
    entry = in_process("sources", "copy.txt", "--sentence", SAID, cwd=tmp_path).stdout
    assert_exits(in_process("sources", "copy.txt", "--sentence", "No such thing.", cwd=tmp_path), "copy.txt")
    sentences.write_text(f"scale-free-steps:\n  - {entry}", encoding="utf-8")

    def found(copy: str) -> Completed:
        return in_process("sources", copy, "adam", f"papers_path={folder}", f"paths.results={results}", cwd=tmp_path)

    text = " ".join(found("copy.txt").stdout.split())
    assert SAID.removesuffix(".") in text
    assert "paraphrase: The magnitudes of parameter updates" in text
    assert checked_claims("adam", results) == ["scale-free-steps"]
    assert_exits(found("other.txt"), "adam", "other.txt")
    with sentences.open("a", encoding="utf-8") as file:
        file.write(f"  - {{words: 2, sha256: '{'0' * 64}'}}\n")
    assert checked_claims("adam", results) == []
    assert_exits(found("copy.txt"), "1 of 1", "adam/scale-free-steps")


@pytest.mark.usefixtures("no_paper_stays")
def test_one_claim_may_be_asked_for(tmp_path: Path) -> None:
    folder = shutil.copytree(CHECKOUT / "examples", tmp_path / "papers")
    (tmp_path / "copy.txt").write_text(SAID, encoding="utf-8")
    there, absent = sentence_of(SAID), "{words: 2, sha256: '" + "0" * 64 + "'}"
    (folder / "config" / "paper" / "adam" / "sentences.yaml").write_text(
        f"scale-free-steps: [{{words: {there.words}, sha256: '{there.sha256}'}}]\nadagrad-limit: [{absent}]\n",
        encoding="utf-8",
    )
    settings = (f"papers_path={folder}", f"paths.results={tmp_path}")
    alone = in_process("sources", "copy.txt", "scale-free-steps", *settings, cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    assert [line.split()[0] for line in alone.stdout.splitlines() if line[0] != " "] == ["adam/scale-free-steps"]
    assert_exits(in_process("sources", "copy.txt", "adagrad-limit", *settings, cwd=tmp_path), "1 of 1", "adagrad")
    assert_exits(in_process("sources", "copy.txt", *settings, cwd=tmp_path), "1 of 2", "adagrad")
