"""Snapshots of etcd: `etcd-snapshot.db.gz` was saved by etcdctl 3.4 after writes, updates and a deletion."""

import gzip
from contextlib import suppress
from pathlib import Path

import pytest

from mockkube.importing.dump_files import parse_dump, read_dump
from mockkube.importing.errors import UnreadableDumpError

SNAPSHOT = gzip.decompress((Path(__file__).parent / "etcd-snapshot.db.gz").read_bytes())
PAGE_BYTES = 4096


def test_the_last_value_of_each_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "snapshot.db").write_bytes(SNAPSHOT)
    found = {obj["metadata"]["name"]: obj for obj in read_dump(str(tmp_path))}
    # c2 was deleted, c3 updated; the others need more than one page.
    assert set(found) == {"c1", "c3", *(f"many-{number}" for number in range(300))}
    assert found["c1"]["data"] == {"n": "1"}
    assert found["c3"]["data"] == {"n": "33"}


def test_one_of_the_two_meta_pages_may_be_half_written() -> None:
    for begin in (0, PAGE_BYTES):
        damaged = bytearray(SNAPSHOT)
        damaged[begin + 40 : begin + 48] = b"\xff" * 8
        assert sum(1 for _ in parse_dump(bytes(damaged), "snapshot.db")) in range(202, 303)


@pytest.mark.parametrize("size", [100, PAGE_BYTES, 3 * PAGE_BYTES, len(SNAPSHOT) // 2])
def test_a_file_that_was_cut_short_is_refused(size: int) -> None:
    with pytest.raises(UnreadableDumpError, match=r"snapshot\.db: damaged database of etcd"):
        list(parse_dump(SNAPSHOT[:size], "snapshot.db"))


def test_no_damage_raises_another_error() -> None:
    for offset in range(0, len(SNAPSHOT) - 4, 331):
        damaged = bytearray(SNAPSHOT)
        damaged[offset : offset + 4] = b"\xff\x03\xff\xff"
        with suppress(UnreadableDumpError):
            assert len(list(parse_dump(bytes(damaged), "snapshot.db"))) <= 303
