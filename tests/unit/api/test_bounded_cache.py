"""The bounded cache: what it keeps, what it forgets, and that threads may share it."""

import threading

import pytest

from mockkube.api.bounded_cache import BoundedCache, DigestCache, digest_json


def test_what_was_unused_for_longest_is_forgotten() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_entries_are_forgotten_once_they_are_too_large_together() -> None:
    cache = BoundedCache[str, bytes](100, bytes_max=10, size_of=len)
    cache.put("a", b"." * 6)
    cache.put("a", b"." * 4)
    cache.put("b", b"." * 6)
    assert len(cache) == 2
    cache.put("c", b".")
    assert (cache.get("a"), len(cache)) == (None, 2)


def test_what_is_larger_than_all_may_be_is_not_kept_and_drives_nothing_out() -> None:
    cache = BoundedCache[str, bytes](100, bytes_max=10, size_of=len)
    cache.put("a", b"." * 6)
    cache.put("b", b"." * 11)
    assert (cache.get("a"), cache.get("b")) == (b"......", None)


@pytest.mark.parametrize("threads", [4])
def test_threads_leave_no_more_than_the_limits_allow(threads: int) -> None:
    cache = BoundedCache[int, bytes](50, bytes_max=200, size_of=len)

    def use(start: int) -> None:
        for number in range(3000):
            if cache.get((start + number) % 97) is None:
                cache.put((start + number) % 97, b"." * (number % 9))

    running = [threading.Thread(target=use, args=(13 * one,)) for one in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert len(cache) <= 50
    assert sum(len(cache.get(key) or b"") for key in range(97)) <= 200


def test_a_value_is_found_with_its_settings_only() -> None:
    known, settings, others = DigestCache[str](), object(), object()
    known.put(b"digest", settings, "value")
    found = [known.get(b"digest", settings), known.get(b"digest", others), known.get(b"other", settings)]
    assert found == ["value", None, None]


def test_equal_values_have_equal_digests_and_others_do_not() -> None:
    values: tuple[object, ...] = ({"a": 1}, {"a": 1}, {"a": 2}, {"a": "1"}, [1], {"a": 1})
    first, again, *others, last = [digest_json(value) for value in values]
    assert first == again == last
    assert len({first, *others}) == 4


def test_a_value_that_changes_in_place_has_another_digest() -> None:
    value = {"a": [1]}
    before = digest_json(value)
    value["a"].append(2)
    assert digest_json(value) != before
