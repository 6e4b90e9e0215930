"""Which orders the version skew policy supports: an order is only as good as each mix of versions it goes through."""

from collections.abc import Iterator, Sequence

from mockkube.features import skew
from mockkube.features.versions import Version
from mockkube.scenario.explore.plan import Order, Phase, Plan


def concerned(plan: Plan) -> bool:
    """Whether versions change at all, so that the policy has something to say."""
    return any(one.before.version != one.after.version for one in plan.changes)


def forbidden(plan: Plan, phase: Phase, order: Order) -> Sequence[str]:
    """Return what the policy has against an order; empty if it supports every mix on the way."""
    versions = {one.component: _version(plan, one.to(_other(phase)).version) for one in plan.changes}
    return list(dict.fromkeys(_on_the_way(plan, phase, order, versions)))


def _on_the_way(plan: Plan, phase: Phase, order: Order, versions: dict[str, Version]) -> Iterator[str]:
    for component in order[:-1]:
        versions[component] = _version(plan, plan.change_of(component).to(phase).version)
        yield from (one.reason for one in skew.find_unsupported(versions))


def _other(phase: Phase) -> Phase:
    return Phase.DOWN if phase is Phase.UP else Phase.UP


def _version(plan: Plan, text: str | None) -> Version:
    return Version.parse(text) if text else plan.version
