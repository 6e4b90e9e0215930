"""Prefixes as ranges, and the sorted set."""

import mockkube_storage.keys as keys_module
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mockkube_storage.errors import InvalidKey
from mockkube_storage.keys import SortedKeys, check_key, prefix_end

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        pytest.param("", None, id="of everything there is none"),
        pytest.param("/a/", "/a0", id="the last character is raised"),
        pytest.param("\ud7ff", "\ue000", id="surrogates are skipped"),
        pytest.param("a\U0010ffff", "b", id="the last character there is carries over"),
        pytest.param("\U0010ffff", None, id="nothing follows the last character there is"),
    ],
)
def test_the_end_of_a_prefix(prefix: str, end: str | None) -> None:
    assert prefix_end(prefix) == end


@given(prefix=TEXT, key=TEXT)
def test_a_key_is_in_the_range_of_a_prefix_exactly_if_it_begins_with_it(prefix: str, key: str) -> None:
    end = prefix_end(prefix)
    assert (key >= prefix and (end is None or key < end)) == key.startswith(prefix)


@pytest.fixture(params=[2, 5, 2048], autouse=True)
def part_max(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let parts of sorted sets have at most so many keys."""
    monkeypatch.setattr(keys_module, "_PART_MAX", request.param)


SAME_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(keys=st.sets(TEXT), prefix=TEXT, start=TEXT)
@SAME_FIXTURE
def test_the_keys_between_are_those_of_the_prefix_from_the_start_on(keys: set[str], prefix: str, start: str) -> None:
    expected = [key for key in sorted(keys) if key.startswith(prefix) and key >= start]
    added = SortedKeys()
    for key in keys:
        added.add(key)
    assert SortedKeys(keys).keys_in_range(prefix, start) == expected
    assert added.keys_in_range(prefix, start) == expected


@given(keys=st.lists(TEXT, unique=True), gone=st.data())
@SAME_FIXTURE
def test_adding_and_removing_keeps_the_order(keys: list[str], gone: st.DataObject) -> None:
    sorted_keys = SortedKeys()
    for key in keys:
        sorted_keys.add(key)
    removed = gone.draw(st.sets(st.sampled_from(keys))) if keys else set()
    for key in sorted(removed):
        sorted_keys.remove(key)
    assert sorted_keys.keys_in_range("", "") == sorted(set(keys) - removed)
    for key in sorted(removed):
        sorted_keys.add(key)
    assert sorted_keys.keys_in_range("", "") == sorted(keys)


@pytest.mark.parametrize("key", ["", "\0", "/a\0", "/\ud800"])
def test_a_bad_key_is_refused_and_named(key: str) -> None:
    with pytest.raises(InvalidKey) as caught:
        check_key(key)
    assert caught.value.key == key
    assert repr(key) in str(caught.value)


@pytest.mark.parametrize("key", ["/", "a b", "/é", "/\U0001f600"])
def test_any_other_text_is_a_key(key: str) -> None:
    check_key(key)
