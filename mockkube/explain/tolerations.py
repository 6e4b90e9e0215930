"""Find the taint that keeps a pod away, and explain why similar tolerations do not match it."""

from collections.abc import Iterable, Sequence

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explain.fact_formatting import format_facts
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.cel.tolerations import ExpressionCache
from mockkube.matching.taints import CompiledToleration, compile_tolerations, find_untolerated
from mockkube.proposals.component_extensions import make_taint_rules
from mockkube.proposals.evaluation import explain_near_misses


@dataclass(frozen=True, slots=True)
class UntoleratedTaint:
    """A taint that is not tolerated, with the facts that were compared."""

    taint: ReadOnlyObject
    detail: str


def compile_for_component(tolerations: Iterable[ReadOnlyObject], caps: Capabilities) -> tuple[CompiledToleration, ...]:
    """Compile tolerations by the rules of a component's version and gates."""
    return compile_tolerations(tolerations, make_taint_rules(caps, ExpressionCache().compile_expression))


def find_first_untolerated(
    tolerations: Iterable[ReadOnlyObject], node: ReadOnlyObject, caps: Capabilities, effects: Sequence[str]
) -> UntoleratedTaint | None:
    """Return the first taint with one of the effects that is not tolerated."""
    own = compile_for_component(tolerations, caps)
    taint = find_untolerated((node.get("spec") or {}).get("taints") or (), own, effects)
    if taint is None:
        return None
    return UntoleratedTaint(taint, format_facts({"taint": taint, "tolerations": explain_near_misses(own, taint, caps)}))
