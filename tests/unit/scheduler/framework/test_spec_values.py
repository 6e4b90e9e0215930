"""Values that pods with equal specs share."""

from typing import Any

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.pod_requests import PodRequestCalculator
from mockkube.scheduler.framework.spec_values import SPECS_MAX, SpecValues


def pod(name: str, values: SpecValues, *, status: Any = None, **spec: Any) -> PodInfo:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    metadata = {"name": name, "namespace": "a", "uid": name}
    return PodInfo({"metadata": metadata, "spec": {"containers": containers, **spec}, "status": status or {}}, values)


def with_token(suffix: str, **spec: Any) -> dict[str, Any]:
    name = f"kube-api-access-{suffix}"
    containers = [{"name": "c", "volumeMounts": [{"name": name, "mountPath": "/var/run/secrets"}]}]
    return {"containers": containers, "volumes": [{"name": name, "projected": {}}], **spec}


@pytest.mark.parametrize(
    ("first", "second", "shares"),
    [
        pytest.param({}, {}, True, id="nothing"),
        pytest.param({}, {"nodeName": "n"}, True, id="the node"),
        pytest.param(with_token("abcde"), with_token("fghij"), True, id="the volume of the token"),
        pytest.param(with_token("abcde"), with_token("fghij", nodeName="n"), True, id="both"),
        pytest.param({"priority": 1}, {"priority": 2}, False, id="the priority"),
        pytest.param({"volumes": [{"name": "a"}]}, {"volumes": [{"name": "b"}]}, False, id="another volume"),
        pytest.param({"hostNetwork": True}, {"hostNetwork": 1}, False, id="the type of a value"),
    ],
)
def test_pods_share_values_if_their_specs_differ_in_no_more_than(first: Any, second: Any, shares: bool) -> None:
    values, asked = SpecValues(), []

    def read(spec: Any) -> object:
        asked.append(spec)
        return object()

    one, other = pod("one", values, **first), pod("other", values, **second)
    assert (one.derive_from_spec("me", read) is other.derive_from_spec("me", read)) is shares
    assert one.derive_from_spec("me", read) is one.derive_from_spec("me", read)
    assert len(asked) == (1 if shares else 2)


def test_schedulers_share_no_values() -> None:
    one, other = pod("one", SpecValues()), pod("other", SpecValues())
    assert one.derive_from_spec("me", lambda _: object()) is not other.derive_from_spec("me", lambda _: object())


def test_no_more_than_so_many_specs_are_known() -> None:
    values = SpecValues()
    first = values.get({"priority": 0})
    for priority in range(1, SPECS_MAX):
        values.get({"priority": priority})
    assert values.get({"priority": 0}) is first
    values.get({"priority": SPECS_MAX})
    assert values.get({"priority": 0}) is not first


def test_requests_of_a_resized_pod_are_its_own() -> None:
    values = SpecValues()
    requests = PodRequestCalculator(Capabilities(gates=frozenset(["InPlacePodVerticalScaling"])))
    grown = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    assert requests.read(pod("one", values)).total.cpu_milli == 1000
    assert requests.read(pod("two", values, status=grown)).total.cpu_milli == 3000
    assert requests.read(pod("three", values)).total.cpu_milli == 1000


def test_an_unreadable_spec_stays_unreadable() -> None:
    values = SpecValues()
    for name in ("one", "other"):
        with pytest.raises(KeyError):
            pod(name, values).derive_from_spec("me", lambda spec: spec["absent"])
