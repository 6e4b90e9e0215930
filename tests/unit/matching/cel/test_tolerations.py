from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import UnreadableValue

_TAINT = {"key": "a", "value": "1", "effect": "NoSchedule"}


def test_what_was_compiled_is_found_again() -> None:
    cache = ExpressionCache()
    first = cache.get("taint.key == 'a'")
    assert cache.get("taint.key == 'a'") is first
    assert (cache.statistics.hits, cache.statistics.misses) == (1, 1)


def test_the_least_recently_used_is_forgotten() -> None:
    cache = ExpressionCache(programs_max=2)
    for text in ("true", "false", "true", "!true", "true", "false"):
        cache.get(text)
    assert (cache.statistics.hits, cache.statistics.misses) == (2, 4)


def test_a_component_pays_for_its_own_cache_only() -> None:
    one, other = ExpressionCache(), ExpressionCache()
    one.get("true")
    assert other.statistics.misses == 0


def test_an_expression_becomes_a_test_of_taints() -> None:
    cache = ExpressionCache()
    assert cache.compile_expression("taint.key == 'a'")(_TAINT) is True
    assert cache.compile_expression("taint.key == 'b'")(_TAINT) is False


def test_failures_are_values_with_the_expression_and_the_message() -> None:
    cache = ExpressionCache()
    text = "semver(taint.value).major() == 1"
    assert cache.compile_expression(text)(_TAINT) == UnreadableValue(
        "taint", text, "No Major.Minor.Patch elements found"
    )
    unreadable = cache.compile_expression("1 +")(_TAINT)
    assert isinstance(unreadable, UnreadableValue)
    assert unreadable.owner == "toleration"
    assert unreadable.reason.startswith("compilation failed: ")
