"""What matching takes, per question: `python tests/bench/matching.py`."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from mockkube.matching import node_selectors, semver, taints
from mockkube.matching.cel.tolerations import TAINT_ENVIRONMENT, ExpressionCache, evaluate
from mockkube.proposals import kep_5471, kep_5721

ROUNDS: Final = 5
GOAL_MICROSECONDS: Final = 10.0
"""What the evaluation of a story of KEP-5500 may take at most."""

_VERSION: Final = {"key": "node.example.com/kernel-version", "value": "5.19.0-101-generic", "effect": "NoSchedule"}
STORIES: Final = {
    "story 1, a prefix": (
        "taint.key.startsWith('env.example.com/')",
        {"key": "env.example.com/dev", "value": "", "effect": "NoSchedule"},
    ),
    "story 2, versions": (
        "taint.key == 'node.example.com/kernel-version' && semver(taint.value).isGreaterThan(semver('5.15.0'))",
        _VERSION,
    ),
    "story 3, a pattern": (
        "taint.key.matches('^zone-a[12]-rack-[0-9]+$')",
        {"key": "zone-a1-rack-03", "value": "", "effect": "NoSchedule"},
    ),
}


def main() -> None:
    """Measure the stories, then what they are measured against."""
    for name, (text, taint) in STORIES.items():
        compiled = TAINT_ENVIRONMENT.compile(text)
        assert evaluate(compiled, taint).value is True
        took = report(name, partial(evaluate, compiled, taint))
        if took > GOAL_MICROSECONDS:
            print(f"    slower than {GOAL_MICROSECONDS:.0f} µs")
        report("  compiled anew", partial(TAINT_ENVIRONMENT.compile, text), count=200)
    report_tolerations()
    report_selectors()
    report("a version parsed", lambda: semver.parse_tolerant("v5.19.0-101-generic"))


def report_tolerations() -> None:
    """Measure tolerations of each kind against one taint."""
    rules = taints.TaintRules({**kep_5471.COMPARISONS, **kep_5721.COMPARISONS}, ExpressionCache().compile_expression)
    tolerations: dict[str, dict[str, str]] = {
        "Equal": {"key": _VERSION["key"], "value": "x"},
        "Gt": {"key": _VERSION["key"], "operator": "Gt", "value": "5"},
        "SemverGt": {"key": _VERSION["key"], "operator": "SemverGt", "value": "5.15"},
        "expression": {"expression": STORIES["story 2, versions"][0]},
    }
    for name, toleration in tolerations.items():
        compiled = taints.compile_toleration(toleration, rules)
        report(f"toleration, {name}", partial(compiled.tolerates, _VERSION))


def report_selectors() -> None:
    """Measure a node selector of two requirements."""
    terms = [
        {
            "matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["a", "b"]},
                {"key": "generation", "operator": "Gt", "values": ["4"]},
            ]
        }
    ]
    selector = node_selectors.compile_terms(terms, {})
    labels = {"zone": "b", "generation": "5"}
    report("node selector", lambda: selector.matches(labels))


def report(name: str, ask: Callable[[], object], *, count: int = 20_000) -> float:
    """Print and return the microseconds of one question, the best of some rounds."""
    best = min(measured(ask, count) for _ in range(ROUNDS))
    print(f"{name:24} {best:8.2f} µs")
    return best


def measured(ask: Callable[[], object], count: int) -> float:
    """Return the mean microseconds of a question."""
    start = time.perf_counter()
    for _ in range(count):
        ask()
    return (time.perf_counter() - start) / count * 1e6


if __name__ == "__main__":
    main()
