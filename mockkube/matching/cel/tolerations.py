"""CEL expressions of tolerations (KEP-5500): environment, validation, evaluation on taints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cachetools import LRUCache
from mockkube_cel import types
from mockkube_cel.environment import Compiled
from mockkube_cel.schema import Schema
from mockkube_cel.sizes import ZERO, Size, known_sizes

from mockkube.api.fields import FieldError, forbidden, internal, invalid, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.environment import kubernetes_environment
from mockkube.matching.taints import Outcome, TaintCheck, UnreadableValue

if TYPE_CHECKING:
    from mockkube_cel.program import Evaluation

EXPRESSION_BYTES_MAX: Final = 10 * 1024
# Limit of the estimated cost, and of the actual cost of an evaluation.
COST_MAX: Final = 1_000_000
# Size of the cache of compiled expressions; the least recently used one is dropped.
PROGRAMS_MAX: Final = 1024

_TAINT: Final = "kubernetes.Taint"
_SCHEMA: Final = Schema(
    variables={"taint": types.struct(_TAINT)},
    messages={_TAINT: dict.fromkeys(("key", "value", "effect"), types.STRING)},
)
_SIZES: Final = known_sizes(
    {
        ("taint",): ZERO,
        # A qualified name: prefix, slash and name.
        ("taint", "key"): Size(0, 253 + 1 + 63),
        ("taint", "value"): Size(0, 63),
        # The longest effect is PreferNoSchedule.
        ("taint", "effect"): Size(0, 16),
    }
)
TAINT_ENVIRONMENT: Final = kubernetes_environment(_SCHEMA, _SIZES)
TAINT_ENVIRONMENT_WITH_BINDINGS: Final = kubernetes_environment(_SCHEMA, _SIZES, bindings=True)


def validate_compiled(text: str, compiled: Compiled, at: str) -> list[FieldError]:
    """Validate a compiled expression in the field `at` as the API server does."""
    # A text that is too long gets this error only, whatever compiling it would report.
    if len(text.encode(errors="surrogatepass")) > EXPRESSION_BYTES_MAX:
        return [too_long(at, EXPRESSION_BYTES_MAX)]
    if compiled.error is not None:
        return [internal(at, compiled.error) if compiled.is_internal else invalid(at, text, compiled.error)]
    assert compiled.estimate is not None, "a program has an estimate"
    return [forbidden(at, "too complex, exceeds cost limit")] if compiled.estimate.max > COST_MAX else []


def evaluate(compiled: Compiled, taint: ReadOnlyObject, *, backwards: bool = False) -> Evaluation:
    """Evaluate an expression on a taint; `backwards` as in `Program.evaluate`."""
    assert compiled.program is not None, "only what compiles is evaluated"
    bound = {"key": taint.get("key", ""), "value": taint.get("value", ""), "effect": taint.get("effect", "")}
    return compiled.program.evaluate({"taint": bound}, COST_MAX, backwards=backwards)


@dataclass(slots=True)
class CacheStatistics:
    """Numbers of cache hits and compilations, and the cost of all evaluations."""

    hits: int = 0
    misses: int = 0
    cost: int = 0


class ExpressionCache:
    """LRU cache of compiled expressions; each component has one of its own."""

    def __init__(self, programs_max: int = PROGRAMS_MAX) -> None:
        self.statistics = CacheStatistics()
        self._compiled: LRUCache[str, Compiled] = LRUCache(programs_max)

    def get(self, text: str) -> Compiled:
        """Return the compiled expression."""
        compiled = self._compiled.get(text)
        if compiled is not None:
            self.statistics.hits += 1
            return compiled
        self.statistics.misses += 1
        compiled = TAINT_ENVIRONMENT.compile(text, estimate=False)  # upstream 1.36: only the API server estimates
        self._compiled[text] = compiled
        return compiled

    def compile_expression(self, text: str) -> TaintCheck:
        """Return the expression as a check of taints, in the form that `TaintRules` needs."""
        compiled = self.get(text)
        if compiled.error is not None:
            unreadable = UnreadableValue("toleration", text, compiled.error)
            return lambda taint: unreadable

        from mockkube_cel.values import CelError  # late, like the compiler that is loaded by now

        def test(taint: ReadOnlyObject) -> Outcome:
            evaluation = evaluate(compiled, taint)
            self.statistics.cost += evaluation.cost
            value = evaluation.value
            return UnreadableValue("taint", text, value.message) if type(value) is CelError else value is True

        return test
