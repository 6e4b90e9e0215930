"""Which taint of a node keeps a pod away, and why the tolerations that could be meant for it do not match."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mockkube.api.types import ReadOnlyObject
from mockkube.explain.facts import text_of
from mockkube.features.capabilities import Capabilities
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import CompiledToleration, compile_tolerations, find_untolerated
from mockkube.proposals.answers import explain_near_misses
from mockkube.proposals.lending import taint_rules


@dataclass(frozen=True, slots=True)
class Untolerated:
    """A taint, and what was compared with it."""

    taint: ReadOnlyObject
    detail: str


def compiled(tolerations: Iterable[ReadOnlyObject], caps: Capabilities) -> tuple[CompiledToleration, ...]:
    """Return tolerations as a component understands them."""
    return compile_tolerations(tolerations, taint_rules(caps, ExpressionCache().expression))


def first_untolerated(
    tolerations: Iterable[ReadOnlyObject], node: ReadOnlyObject, caps: Capabilities, effects: Sequence[str]
) -> Untolerated | None:
    """Return the first taint with one of the effects that is not tolerated."""
    own = compiled(tolerations, caps)
    taint = find_untolerated((node.get("spec") or {}).get("taints") or (), own, effects)
    if taint is None:
        return None
    return Untolerated(taint, text_of({"taint": taint, "tolerations": explain_near_misses(own, taint, caps)}))
