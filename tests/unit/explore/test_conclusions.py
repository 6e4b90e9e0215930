"""Which orders the version skew policy supports."""

from itertools import permutations

from mockkube.explore.conclusions import changes_versions, find_unsupported
from mockkube.explore.plans.plan import ComponentSetting, Direction, PlannedChange, RolloutPlan

NAMES = ("kube-apiserver", "kube-scheduler", "kubelet")


def plan(**settings: ComponentSetting) -> RolloutPlan:
    changes = tuple(PlannedChange(name, settings["before"], settings["after"]) for name in NAMES)
    return RolloutPlan("p", changes, (), (), ())


UPGRADE = plan(before=ComponentSetting("1.33"), after=ComponentSetting("1.34"))


def test_the_api_server_is_upgraded_first_and_downgraded_last() -> None:
    up = [order for order in permutations(NAMES) if not find_unsupported(UPGRADE, Direction.UP, order)]
    down = [order for order in permutations(NAMES) if not find_unsupported(UPGRADE, Direction.DOWN, order)]
    assert {order[0] for order in up} == {"kube-apiserver"}
    assert {order[-1] for order in down} == {"kube-apiserver"}


def test_the_policy_says_nothing_of_gates() -> None:
    gates = plan(before=ComponentSetting(gates={"X": None}), after=ComponentSetting(gates={"X": True}))
    assert changes_versions(UPGRADE)
    assert not changes_versions(gates)
