"""The page of a cluster is built from its sources: what is committed is what `make ui` writes."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "ui"
ASSETS = ROOT / "mockkube" / "ui" / "assets"
OTHERS = ("../mockkube/report/templates/tokens.css", "build.mjs", "package-lock.json", "package.json", "tsconfig.json")


def digest_sources() -> str:
    names = sorted([f"src/{one.name}" for one in (SOURCES / "src").iterdir()] + list(OTHERS))
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    return digest.hexdigest()


def test_the_page_was_built_from_these_sources() -> None:
    assert (ASSETS / "sources.sha256").read_text().strip() == digest_sources(), (
        "run `make ui`, and commit what it writes"
    )


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
@pytest.mark.skipif(not (SOURCES / "node_modules").is_dir(), reason="packages of ui/ are not installed: run `make ui`")
def test_building_it_again_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run(["npm", "run", "--silent", "check"], cwd=SOURCES, check=True)
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=SOURCES, check=True)
    built = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    assert built == {one.name: one.read_bytes() for one in ASSETS.iterdir()}
