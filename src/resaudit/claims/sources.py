"""Whether a paper says what a claim paraphrases: the SHA-256 of its sentences, found in the reader's own copy.

``config/paper/<paper>/sentences.yaml`` has for each claim the sentences on which it rests, each as its number of words
and the SHA-256 of these, or in words why there is none. So the repository has no text of a paper.
"""

import hashlib
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from resaudit.base.errors import DataError, DifferenceError, MachineError, listed
from resaudit.base.files import sha256_of, write_json
from resaudit.base.models import Closed, Id, Line, Part, Sha256, read_record, validated
from resaudit.base.text import folded
from resaudit.plan.composition import config_folder
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import Files, files_like

FILE, RECORDS = "sentences.yaml", "sources"
"""Of a paper's configuration; in the folder of all results, the folder of records."""


class Sentence(Closed):
    """A sentence of a paper, or a part of one, without formulas, since each program reads these in another way."""

    words: Annotated[int, Field(ge=1)]
    """How many words it has."""
    sha256: Sha256
    """Of its words as :func:`words_of` gives them, in UTF-8 with a space between them."""


class _Sentences(Closed):
    of: dict[Id, list[Sentence] | Line]


class Word(NamedTuple):
    """A word of a text."""

    normal: str  # as it is compared
    start: int  # its place in the text
    end: int


class Checked(Part):
    """That a paper's sentences were found in a copy: ``results/sources/<paper>.json``."""

    text_sha256: Sha256
    """Of the copy's file."""
    found: dict[Id, list[Sha256]]
    """By claim all of whose sentences were found, these."""


def text_of(file: Path) -> str:
    """The text of a PDF, by pypdf or pdftotext, or of a file of text; words hyphenated at a line's end are whole."""
    if file.read_bytes()[:5] != b"%PDF-":
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{file} is neither a PDF nor text in UTF-8 ({error}); give one of them") from error
    elif find_spec("pypdf"):
        text = _by_pypdf(file)
    elif shutil.which("pdftotext"):
        done = subprocess.run(["pdftotext", str(file), "-"], capture_output=True, check=False)
        if done.returncode:
            raise DataError(f"{file} cannot be read ({done.stderr.decode(errors='replace').strip()}); get it again")
        text = done.stdout.decode("utf-8", "replace")
    else:
        raise MachineError("reading a PDF needs pypdf (pip install pypdf) or pdftotext; or give its text as a file")
    return re.sub(r"(?<=\w)[-\u2010\u00ad][ \t]*\n\s*(?=\w)", "", text)


def _by_pypdf(file: Path) -> str:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    try:
        return "\n".join(page.extract_text() for page in PdfReader(file).pages)
    except DependencyError as error:  # as publishers' own, encrypted without a password, raise
        raise MachineError(f"{file} cannot be read here ({error}); install that, or give its text as a file") from error
    except (PyPdfError, ValueError, KeyError, TypeError) as error:  # as damaged ones raise
        raise DataError(f"{file} cannot be read ({error}); get it again") from error


def words_of(text: str) -> list[Word]:
    """The words of a text: what is between spaces, as NFKC (so without ligatures), casefolded, letters and digits only.

    >>> [word.normal for word in words_of("The  ﬁrst “depth-invariant” one – see [3].")]
    ['the', 'first', 'depthinvariant', 'one', 'see', '3']
    """
    words = []
    for match in re.finditer(r"\S+", text):
        normal = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", match[0]).casefold()))
        words += [Word(normal, *match.span())] if normal else []
    return words


def sentence_of(text: str) -> Sentence:
    """The entry of a sentence that is given in full."""
    words = [word.normal for word in words_of(text)]
    if not words:
        raise DataError("the sentence has no words; give some")
    return Sentence(words=len(words), sha256=_sha256(words))


def _sha256(words: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def find(sentences: Iterable[Sentence], text: str) -> dict[Sentence, str]:
    """The passages of a text that are these sentences, as they stand there; others are left out."""
    words, wanted = words_of(text), set(sentences)
    found = {}
    for size in {sentence.words for sentence in wanted}:
        of_size = {sentence.sha256: sentence for sentence in wanted if sentence.words == size}
        for start in range(len(words) - size + 1):
            window = words[start : start + size]
            if sentence := of_size.get(_sha256(word.normal for word in window)):
                found[sentence] = " ".join(text[window[0].start : window[-1].end].split())
    return found


def sentences_of(paper: str) -> dict[str, list[Sentence] | str]:
    """The sentences of a paper's claims by id, or why there are none; empty if the paper has no such file."""
    folder = config_folder()
    file = next(iter(files_like(folder, f"paper/{paper}/{FILE}")), None)
    return dict(validated(_Sentences, {"of": Files(folder).read(file)}, FILE).of) if file else {}


def side_by_side(config: Config, papers: Sequence[str], copy: Path, only: str | None = None) -> Iterator[str]:
    """Each claim's sentences as they stand in a copy of its paper, above our paraphrase; what was found is recorded.

    Raises ResauditError at the end if a sentence is not there.

    Args:
        config: the configuration with the claims.
        papers: those that the copy may be of.
        copy: a PDF, or a file of text.
        only: the only claim to show, as ``paper/claim``.
    """
    text, absent, count, found = text_of(copy), list[str](), 0, False
    for paper in papers:
        given = sentences_of(paper)
        listed_here = {claim: each for claim, each in given.items() if not isinstance(each, str)}
        there = find((sentence for sentences in listed_here.values() for sentence in sentences), text)
        if not there:
            continue
        found = True
        whole = {claim: of for claim, of in listed_here.items() if there.keys() >= set(of)}
        record(paper, Layout(config.paths).results, copy, whole)
        meant = [claim for claim in listed_here if only in (None, f"{paper}/{claim}")]
        count += len(meant)
        absent += [f"{paper}/{claim}" for claim in meant if claim not in whole]
        for name, claim in config.claims_of(paper).items():
            if only in (None, f"{paper}/{name}"):
                sentences = given.get(name, "no sentence is listed")
                yield f"{paper}/{name} ({claim.where})"
                for each in [f"it {sentences}"] if isinstance(sentences, str) else sentences:
                    words = each if isinstance(each, str) else there.get(each, "NOT IN THIS COPY")
                    yield folded(f"the paper:  {words}", "  ", " " * 14)
                yield folded(f"paraphrase: {claim.statement}", "  ", " " * 14)
    if not found:
        raise DifferenceError(f"no sentence of {listed(papers)} is in {copy}; give the paper as a PDF, or its text")
    if absent:
        raise DifferenceError(
            f"{len(absent)} of {count} claims rest on sentences that are not in {copy}: {listed(absent)}"
        )


def record(paper: str, results: Path, copy: Path, found: Mapping[str, Sequence[Sentence]]) -> None:
    """Record the claims all of whose sentences were found."""
    digests = {claim: [sentence.sha256 for sentence in sentences] for claim, sentences in found.items()}
    checked = Checked(text_sha256=sha256_of(copy), found=digests)
    write_json(results / RECORDS / f"{paper}.json", checked.model_dump(mode="json"))


def checked_claims(paper: str, results: Path) -> list[str]:
    """The claims all of whose sentences, those of today's file, were found in a copy here."""
    file = results / RECORDS / f"{paper}.json"
    if not file.is_file():
        return []
    found = read_record(file, Checked, "remove it").found
    return [
        claim
        for claim, given in sentences_of(paper).items()
        if not isinstance(given, str) and [each.sha256 for each in given] == found.get(claim)
    ]
