"""Which versions may stand next to each other."""

import pytest

from mockkube.features.skew import check_skew, find_unsupported
from mockkube.features.versions import Version


def read(**versions: str) -> dict[str, Version]:
    return {name.replace("__", ".").replace("_", "-"): Version.parse(text) for name, text in versions.items()}


@pytest.mark.parametrize(
    ("component", "minor", "supported"),
    [
        pytest.param("kubelet", 37, False, id="a kubelet is never newer"),
        pytest.param("kubelet", 36, True, id="a kubelet of the same version"),
        pytest.param("kubelet", 33, True, id="a kubelet three older"),
        pytest.param("kubelet", 32, False, id="a kubelet four older"),
        pytest.param("kube-proxy", 37, False, id="a proxy is never newer"),
        pytest.param("kube-proxy", 33, True, id="a proxy three older"),
        pytest.param("kube-scheduler", 37, False, id="a scheduler is never newer"),
        pytest.param("kube-scheduler", 35, True, id="a scheduler one older"),
        pytest.param("kube-scheduler", 34, False, id="a scheduler two older"),
        pytest.param("kube-controller-manager", 35, True, id="a controller manager one older"),
        pytest.param("cloud-controller-manager", 34, False, id="a cloud controller manager two older"),
        pytest.param("kubectl", 37, True, id="kubectl one newer"),
        pytest.param("kubectl", 35, True, id="kubectl one older"),
        pytest.param("kubectl", 38, False, id="kubectl two newer"),
        pytest.param("kube-apiserver.1", 37, True, id="API servers one apart"),
        pytest.param("kube-apiserver.1", 34, False, id="API servers two apart"),
    ],
)
def test_a_component_beside_an_api_server_of_136(component: str, minor: int, supported: bool) -> None:
    (finding,) = check_skew({"kube-apiserver": Version(1, 36), component: Version(1, minor)})
    assert finding.supported is supported


@pytest.mark.parametrize(
    ("component", "supported"),
    [
        pytest.param("kubelet", [33, 34, 35], id="kubelet"),
        pytest.param("kube-scheduler", [35], id="kube-scheduler"),
        pytest.param("kubectl", [35, 36], id="kubectl"),
    ],
)
def test_mixed_api_servers_narrow_the_window(component: str, supported: list[int]) -> None:
    servers = read(kube_apiserver="1.36", kube_apiserver__1="1.35")
    found = [minor for minor in range(31, 39) if not find_unsupported({**servers, component: Version(1, minor)})]
    assert found == supported


def test_a_kubelet_before_125_may_lag_by_two_only() -> None:
    assert not find_unsupported(read(kube_apiserver="1.26", kubelet="1.24"))
    assert find_unsupported(read(kube_apiserver="1.27", kubelet="1.24"))
    assert not find_unsupported(read(kube_apiserver="1.28", kubelet="1.25"))


def test_a_proxy_is_measured_against_the_kubelet_of_its_node() -> None:
    versions = read(kube_proxy__n1="1.36", kubelet__n1="1.32", kubelet="1.36")
    (finding,) = find_unsupported(versions)
    assert (finding.component, finding.other) == ("kube-proxy.n1", "kubelet.n1")


def test_a_proxy_of_a_node_without_a_name_of_its_own_meets_the_fleet() -> None:
    (finding,) = check_skew(read(kube_proxy__n1="1.36", kubelet__n2="1.32", kubelet="1.36"))
    assert finding.other == "kubelet"


def test_the_reason_names_both_versions_and_the_limit() -> None:
    (finding,) = find_unsupported(read(kube_apiserver="1.36", kube_scheduler="1.34"))
    expected = "kube-scheduler 1.34 is 2 minor versions older than kube-apiserver 1.36: "
    assert finding.reason == expected + "at most 1 minor version older is supported"


def test_another_major_version_is_outside() -> None:
    (finding,) = find_unsupported({"kube-apiserver": Version(2, 0), "kubelet": Version(1, 36)})
    assert "another major version" in finding.reason


def test_findings_of_one_component_leave_out_the_others() -> None:
    versions = read(kube_apiserver="1.36", kube_scheduler="1.34", kubelet="1.37")
    assert [finding.component for finding in find_unsupported(versions, "kubelet")] == ["kubelet"]
    assert len(find_unsupported(versions, "kube-apiserver")) == 2


def test_what_has_no_rule_is_left_out() -> None:
    assert check_skew({"etcd": Version(3, 6), "kube-apiserver": Version(1, 36)}) == []
