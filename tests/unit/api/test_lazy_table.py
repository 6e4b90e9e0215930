"""Tables whose entries are decoded when they are needed."""

from pathlib import Path

import pytest

from mockkube.api.lazy_table import LazyTable, load_lines
from mockkube.api.schema import Schema
from mockkube.features.versions import NEWEST, OLDEST


@pytest.fixture
def lines(tmp_path: Path) -> dict[str, bytes]:
    path = tmp_path / "table.json"
    path.write_bytes(
        b'{\n"a": {"kinds":[1],"x":"kinds"},\n"b": {"x":{"kinds":[2]}},\n"c": null,\n"d": [],\n"e": {not\n}\n'
    )
    return load_lines(path)


def test_lines_stay_as_they_are_until_an_entry_is_asked_for(lines: dict[str, bytes]) -> None:
    table = LazyTable({name: line for name, line in lines.items() if line})
    assert list(table) == ["a", "b", "d", "e"]
    assert table["a"] == {"kinds": [1], "x": "kinds"}
    assert table["d"] == []
    assert "e" in table
    with pytest.raises(ValueError, match="unexpected"):
        table["e"]


def test_a_removed_entry_has_an_empty_line(lines: dict[str, bytes]) -> None:
    assert lines["c"] == b""


def test_a_key_is_found_at_the_top_of_entries_only(lines: dict[str, bytes]) -> None:
    del lines["e"]
    table = LazyTable(lines).with_entries({"z": {"kinds": [3]}, "b": {"kinds": [4]}})
    assert sorted(table.find_all("kinds")) == [("a", [1]), ("b", [4]), ("z", [3])]


def test_added_entries_come_last_and_others_in_their_place(lines: dict[str, bytes]) -> None:
    table = LazyTable(lines).with_entries({"z": 1, "a": 2})
    assert (list(table), len(table)) == (["a", "b", "c", "d", "e", "z"], 6)
    assert (table["a"], table["z"], table.get("nowhere")) == (2, 1, None)
    assert "nowhere" not in table


def test_versions_share_what_did_not_change() -> None:
    older, newer = Schema(OLDEST).definitions, Schema(NEWEST).definitions
    name = "io.k8s.api.core.v1.NamespaceStatus"
    assert older[name] is newer[name]
