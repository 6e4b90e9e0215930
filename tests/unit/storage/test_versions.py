"""Versions in memory."""

from mockkube_storage.model import Entry, delete_event, put_event
from mockkube_storage.versions import Versions


def test_compaction_drops_what_the_last_version_before_it_replaced() -> None:
    versions = Versions()
    first, second, third = (Entry("k", b"%d" % number, 2, number) for number in (2, 3, 4))
    versions.publish([put_event(first, None), put_event(second, first), put_event(third, second)])
    for key in versions.begin_compaction(3):
        versions.drop_versions(key, 3)
    kept, newest = versions.event_at("k", 3), versions.event_at("k", 4)
    assert kept is not None
    assert (kept.entry, kept.previous) == (second, None)
    assert newest == put_event(third, second)


def test_compaction_keeps_no_deleted_key() -> None:
    versions = Versions()
    entry = Entry("k", b"", 2, 2)
    versions.publish([put_event(entry, None), delete_event(entry, 3)])
    for key in versions.begin_compaction(3):
        versions.drop_versions(key, 3)
    assert versions.keys() == []
