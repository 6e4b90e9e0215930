"""The tree of the image: without sources in C, with bytecode where the Python of the image looks for it."""

import importlib.util
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("image")


def test_what_is_needed_to_compile_wheels_is_removed(tool: ModuleType, tmp_path: Path) -> None:
    for name in (
        "a/fast.pyx",
        "a/fast.c",
        "a/fast.so",
        "a/__init__.py",
        "a/tests/big.py",
        "tzdata/zones",
        "b/tests.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    tool.remove_files(tmp_path)
    kept = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {"a/fast.so", "a/__init__.py", "b/tests.py"}


def test_bytecode_of_packages_and_of_the_standard_library_is_compiled(tool: ModuleType, tmp_path: Path) -> None:
    packages = tmp_path / "opt" / "mockkube"
    packages.mkdir(parents=True)
    (packages / "own.py").write_text("A = 1\n")
    library = Path(sysconfig.get_path("stdlib"))
    tool.compile_bytecode([packages / "own.py", library / "abc.py", Path(__file__)], packages, tmp_path)
    own, standard = sorted(tmp_path.rglob("*.pyc"))
    assert own == packages / "__pycache__" / f"own.{sys.implementation.cache_tag}.pyc"
    assert standard == tmp_path / Path(importlib.util.cache_from_source(str(library / "abc.py"))).relative_to("/")
    assert [path.read_bytes()[4:8] for path in (own, standard)] == [b"\x01\0\0\0"] * 2  # a hash that is not checked
    assert b"/opt/mockkube/own.py" in own.read_bytes()
    assert str(tmp_path).encode() not in own.read_bytes()


def test_the_image_is_built_from_what_the_sdist_contains() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    sdist = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    lines = (ROOT / ".containerignore").read_text().splitlines()
    copied = {line[1:] for line in lines if line.startswith("!")}
    assert copied == {path.removeprefix("/") for path in sdist} | {
        "pyproject.toml", "requirements.lock", "tools/image.py",
    }  # fmt: skip
