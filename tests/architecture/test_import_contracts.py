"""The rooms of the house keep their walls."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_room_imports_only_what_the_house_plan_allows() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


def test_folders_beside_the_packages_are_no_packages() -> None:
    # with an __init__.py, a checkout on the path would shadow a package of that name of the user
    for folder in ("storage", "tests", "conformance"):
        assert not list((ROOT / folder).glob("__init__.py"))
    assert not list((ROOT / "tests").rglob("__init__.py"))
