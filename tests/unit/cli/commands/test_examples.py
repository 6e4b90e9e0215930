"""`mockkube examples` as a user types it, and the names of what ships in other commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockkube.cli.commands.examples import FOLDERS
from mockkube.cli.shipped_files import find_shipped, shipped_directory

Mockkube = Callable[..., Any]


def test_every_folder_that_ships_is_described(mockkube: Mockkube) -> None:
    assert set(FOLDERS) == {path.name for path in shipped_directory().iterdir() if path.is_dir()}
    answer = mockkube("examples")
    assert [line.split()[0] for line in answer.out.splitlines()[1:-2]] == [f"conformance/{name}" for name in FOLDERS]


def test_files_are_listed_by_the_names_that_other_commands_take(
    mockkube: Mockkube, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [name] = mockkube("examples", "list", "examples").out.split()
    assert mockkube("test", name, "--list").code == 0
    assert mockkube("test", "conformance/examples", "--list").code == 0
    assert mockkube("examples", "list").out.count("\n") > 200


def test_a_folder_that_does_not_ship_is_refused(mockkube: Mockkube) -> None:
    answer = mockkube("examples", "list", "exampels")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("mockkube: there is no folder 'exampels': there are examples, plans")


def test_they_are_copied_once(mockkube: Mockkube, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mockkube("examples", "copy").code == 0
    assert find_shipped("conformance/examples") == Path("conformance/examples")
    again = mockkube("examples", "copy")
    assert (again.code, again.err) == (2, "mockkube: conformance exists already: give a directory that does not\n")


def test_a_name_that_does_not_ship_stays_as_it_is() -> None:
    assert find_shipped("conformance/absent.yaml") == Path("conformance/absent.yaml")
    assert find_shipped("mine/scenario.yaml") == Path("mine/scenario.yaml")
