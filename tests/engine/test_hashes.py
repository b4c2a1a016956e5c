"""Oracle: constraints.txt, pyproject.toml, and pip, which installs what the hashes allow.

Sees a requirements.txt that is not of the constraints' resolution.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import CHECKOUT
from tests.engine.test_bounds import EXTRAS, PROJECT

HASHED = (CHECKOUT / "requirements.txt").read_text(encoding="utf-8")
PIN = r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)"


def test_each_version_is_that_of_the_constraints_and_has_a_hash() -> None:
    pinned = dict(re.findall(PIN, (CHECKOUT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE))
    blocks = re.split(r"^(?=[\w])", HASHED, flags=re.MULTILINE)[1:]
    ours = {match[1]: match[2] for block in blocks if (match := re.match(PIN, block))}
    assert len(ours) > 100
    assert ours.items() <= pinned.items()
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    asked = [*PROJECT["dependencies"], *(each for each in EXTRAS["test"] if "resaudit" not in each)]
    assert {canonicalize_name(Requirement(each).name) for each in asked} <= set(ours)


@pytest.mark.slow  # makes a virtual environment
def test_pip_installs_what_the_hashes_allow_and_nothing_else(tmp_path: Path) -> None:
    blocks = re.split(r"^(?=[\w])", HASHED, flags=re.MULTILINE)
    few = "".join(block for block in blocks if re.match(r"(click|attrs|humanfriendly)==", block))
    (tmp_path / "good.txt").write_text(few, encoding="utf-8")
    (tmp_path / "bad.txt").write_text(re.sub("sha256:[0-9a-f]{8}", "sha256:00000000", few), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(tmp_path / "venv" / "bin" / "python"), "-m", "pip", "install", "--require-hashes", "-r"]
    refused = subprocess.run([*pip, str(tmp_path / "bad.txt")], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "00000000" in refused.stderr
    installed = subprocess.run([*pip, str(tmp_path / "good.txt")], capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
