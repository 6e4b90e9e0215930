"""Defaults: whose they are, and how much they may add."""

import pytest

from mockkube.api.custom.defaulting import ADDED_BYTES_MAX, set_defaults
from mockkube.api.custom.structural import parse_structural
from mockkube.api.errors import StorageTooLarge

SCHEMA = parse_structural({
    "type": "array",
    "items": {"type": "object", "properties": {"d": {"type": "object", "default": {"text": "x" * 1000}}}},
})  # fmt: skip


def test_objects_share_no_part_of_a_default() -> None:
    items: list[dict[str, dict[str, str]]] = [{}, {}]
    set_defaults(items, SCHEMA)
    items[0]["d"]["text"] = "changed"
    assert items[1]["d"]["text"] == "x" * 1000


def test_defaults_that_multiply_an_object_beyond_what_can_be_stored_are_refused() -> None:
    items = [{} for _ in range(ADDED_BYTES_MAX // 1000)]
    with pytest.raises(StorageTooLarge, match="trying to send message larger than max"):
        set_defaults(items, SCHEMA)
    set_defaults([{} for _ in range(1000)], SCHEMA)
