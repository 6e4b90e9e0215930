"""How `--feature-gates` and the version flags are judged: upstream's texts, release by release."""

import pytest

from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.errors import FlagError
from mockkube.features.flags import parse_feature_gates, parse_flags, validate_gates
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version

COMPARISON = "TaintTolerationComparisonOperators"
V134, V135, V136, V137 = (Version(1, minor) for minor in range(34, 38))


def refusal(text: str, *, component: str = "kube-apiserver", version: Version = V136) -> tuple[str, ...]:
    with pytest.raises(FlagError) as raised:
        parse_feature_gates(text, component, version)
    return raised.value.errors


def notices(text: str, *, component: str = "kube-apiserver", version: Version = V136) -> list[str]:
    return [str(notice) for notice in parse_feature_gates(text, component, version).warnings]


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param(",,", {}, id="nothing but commas"),
        pytest.param(f" {COMPARISON} = t ", {COMPARISON: True}, id="blanks, and a boolean of Go's"),
        pytest.param(f"{COMPARISON}=true,{COMPARISON}=0", {COMPARISON: False}, id="the last of two"),
        pytest.param(f"kube:{COMPARISON}=true", {COMPARISON: True}, id="with the prefix"),
        pytest.param(
            "TolerationAffinitySemverOperators=true",
            {"TaintTolerationNodeAffinitySemverComparisonOperators": True},
            id="an alias",
        ),
    ],
)
def test_what_is_asked_for(text: str, overrides: dict[str, bool]) -> None:
    assert parse_feature_gates(text, "kube-apiserver", V136).overrides == overrides


def test_a_flag_may_be_repeated() -> None:
    values = [f"{COMPARISON}=true", "AllBeta=true"]
    assert parse_feature_gates(values, "kube-scheduler", V136).overrides == {COMPARISON: True, "AllBeta": True}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("X", "missing bool value for X", id="no value"),
        pytest.param(
            "X=yes", 'invalid value of X=yes, err: strconv.ParseBool: parsing "yes": invalid syntax', id="no boolean"
        ),
        pytest.param("X=true,SidecarContainers=false", "unrecognized feature gate: X", id="unknown, told alone"),
        pytest.param("foo:X=true", "component not registered: foo", id="another component's"),
        pytest.param("kube:a:b=true", "unrecognized feature gate: a:b", id="two colons"),
        pytest.param(
            "kube:X=true,Y=true",
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
            id="with and without prefix",
        ),
        pytest.param(
            "SidecarContainers=false",
            "cannot set feature gate SidecarContainers to false, feature is locked to true",
            id="locked",
        ),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    assert refusal(text) == (error,)


def test_every_locked_gate_is_told() -> None:
    with pytest.raises(FlagError, match=r"^\[cannot .* GitRepoVolumeDriver .*, cannot .* SidecarContainers .*\]$"):
        parse_feature_gates("SidecarContainers=false,GitRepoVolumeDriver=true", "kube-apiserver", V136)


def test_a_gate_needs_what_it_depends_on_since_135() -> None:
    expected = "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"
    assert refusal("GangScheduling=true", version=V135) == (expected,)
    assert validate_gates({"GangScheduling": True, "GenericWorkload": True}, "kube-apiserver", V135)


def test_a_gate_of_the_future_is_refused_in_the_words_of_the_release() -> None:
    expected = f"cannot set feature gate {COMPARISON} to true, feature is PreAlpha at emulated version 1.34"
    old = EffectiveVersion.from_version(V136).with_emulated(V134)
    with pytest.raises(FlagError) as raised:
        validate_gates({COMPARISON: True}, "kube-apiserver", V136, effective_version=old)
    assert raised.value.errors == (f"{expected}, min compatibility version 1.33",)
    old = EffectiveVersion.from_version(V134).with_emulated(Version(1, 33))
    with pytest.raises(FlagError) as raised:
        validate_gates({"HostnameOverride": False}, "kube-apiserver", V134, effective_version=old)
    (error,) = raised.value.errors
    assert error.endswith("to false, feature is PreAlpha at emulated version 1.33")


def test_an_older_binary_has_never_heard_of_a_proposal() -> None:
    assert refusal("TaintTolerationCEL=true", version=V134) == ("unrecognized feature gate: TaintTolerationCEL",)


def test_what_a_train_locked_cannot_be_set() -> None:
    locked = ReleaseTrain("TaintTolerationCEL", stages=(GateStage(V136, Maturity.GA, True, True),))
    with pytest.raises(FlagError, match="to false, feature is locked to true"):
        validate_gates({"TaintTolerationCEL": False}, "kube-scheduler", V136, trains=(locked,))


@pytest.mark.parametrize(
    ("version", "line"),
    [
        pytest.param(V135, "warning Setting GA feature gate SidecarContainers=true. ", id="until 1.35"),
        pytest.param(V136, 'info "Warning: setting GA feature gate. ', id="since 1.36"),
    ],
)
def test_a_graduated_gate_is_told_to_go(version: Version, line: str) -> None:
    (said,) = notices("SidecarContainers=true", version=version)
    assert said.startswith(line)


def test_a_deprecated_gate_is_told_to_go() -> None:
    (said,) = notices("GitRepoVolumeDriver=true", version=V134)
    assert said.startswith("warning Setting deprecated feature gate GitRepoVolumeDriver=true.")


@pytest.mark.parametrize(
    ("version", "component", "warned"),
    [
        pytest.param(Version(1, 33), "kube-apiserver", False, id="1.33 does not look"),
        pytest.param(V134, "kube-scheduler", True, id="1.34.11 is above 1.34"),
        pytest.param(V136, "kube-controller-manager", True, id="1.36.4 is above 1.36"),
        pytest.param(V137, "kube-apiserver", False, id="a release candidate is not above its release"),
        pytest.param(V136, "kubelet.n1", False, id="a kubelet does not emulate"),
    ],
)
def test_alpha_gates_are_called_unsupported(version: Version, component: str, warned: bool) -> None:
    said = notices("AllAlpha=true" if version != V137 else f"{COMPARISON}=true", component=component, version=version)
    assert any("features=[" in line and " AllAlpha " in line for line in said) is warned


def test_alpha_gates_are_called_unsupported_where_a_candidate_emulates() -> None:
    old = EffectiveVersion.from_version(V137).with_emulated(V136)
    (said,) = validate_gates({COMPARISON: True}, "kube-apiserver", V137, effective_version=old).warnings
    assert said.text.endswith(f"features=[{COMPARISON}]")


def test_the_kubelet_reads_its_flag_in_its_own_way() -> None:
    wrapped = 'invalid argument "X=yes" for "--feature-gates" flag: invalid value of X: yes, err: '
    assert refusal("X=yes", component="kubelet")[0].startswith(wrapped)
    assert refusal("X", component="kube-proxy")[0].endswith("malformed pair, expect string=bool")
    assert refusal("kube:X=true", component="kubelet.n1") == ("unrecognized feature gate: kube:X",)


@pytest.mark.parametrize(
    ("component", "version", "flag"),
    [
        pytest.param("kube-scheduler", V136, "emulation-forward-compatible", id="of the API server alone"),
        pytest.param("kube-apiserver", V134, "min-compatibility-version", id="younger than the binary"),
        pytest.param("kubelet", V136, "emulated-version", id="not on nodes"),
        pytest.param("kube-apiserver", V136, "no-such-flag", id="nobody's"),
    ],
)
def test_an_unknown_flag(component: str, version: Version, flag: str) -> None:
    with pytest.raises(FlagError, match=f"^unknown flag: --{flag}$"):
        parse_flags(component, version, {flag: ["1.36"]})


def test_gates_are_judged_at_the_emulated_version() -> None:
    flags = {"emulated-version": ["1.34"], "feature-gates": ["PodObservedGenerationTracking=false"]}
    settled = parse_flags("kube-apiserver", V136, flags)
    assert settled.effective_version == EffectiveVersion(V136, V134, Version(1, 33))
    assert settled.gates.overrides == {"PodObservedGenerationTracking": False}


def test_gates_are_judged_before_the_range_of_versions() -> None:
    with pytest.raises(FlagError, match=r"^unrecognized feature gate: X$"):
        parse_flags("kube-apiserver", V136, {"emulated-version": ["1.30"], "feature-gates": ["X=true"]})


@pytest.mark.parametrize("values", [[], ["true"]], ids=["as a switch", "with a value"])
def test_forward_compatibility_needs_an_emulated_version(values: list[str]) -> None:
    flags = {"emulation-forward-compatible": values}
    with pytest.raises(FlagError, match="EmulationForwardCompatible cannot be set to true"):
        parse_flags("kube-apiserver", V136, flags)
    assert (
        parse_flags("kube-apiserver", V136, {**flags, "emulated-version": ["1.35"]}).effective_version.emulated == V135
    )
    assert parse_flags("kube-apiserver", V136, {"emulation-forward-compatible": ["false"]})
