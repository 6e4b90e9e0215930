"""Stages of gates, and the version in which one can be flipped."""

from mockkube.atlas.gate_history import choose_version, find_base_gates, list_stages
from mockkube.features.versions import Version


def test_stages_by_release() -> None:
    assert [str(stage) for stage in list_stages("HostnameOverride")] == [
        "–",
        "Alpha, off",
        "Beta, on",
        "Beta, on",
        "GA, on, locked",
    ]


def test_the_default_version_is_preferred() -> None:
    assert choose_version("HostnameOverride") == Version(1, 36)


def test_else_the_nearest_in_which_it_is_not_locked() -> None:
    assert choose_version("JobManagedBy") == Version(1, 34)
    assert choose_version("H2CContainerProbe") == Version(1, 37)


def test_a_gate_may_be_locked_everywhere() -> None:
    assert choose_version("SidecarContainers") is None


def test_other_gates_stay_as_they_are_needed() -> None:
    base = find_base_gates("MatchLabelKeysInPodTopologySpread", Version(1, 36), {})
    assert base == {"MatchLabelKeysInPodTopologySpreadSelectorMerge": False}
    base = find_base_gates("ResourceHealthStatusMessage", Version(1, 36), {"EnvFiles": False})
    assert base == {"ResourceHealthStatus": True, "EnvFiles": False}
