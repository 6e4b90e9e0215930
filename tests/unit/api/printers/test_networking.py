from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.networking import ingress, ingress_class, ip_address, network_policy, service_cidr
from mockkube.api.kinds.networking.ingress import INGRESS

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "front", "creationTimestamp": "2026-03-14T11:00:00Z"}


@pytest.mark.parametrize(
    ("hosts", "shown"),
    [
        pytest.param([], "*", id="no rules"),
        pytest.param([""], "*", id="a rule for every host"),
        pytest.param(["a", "", "b"], "a,b", id="fewer hosts than rules"),
        pytest.param(["a", "b", "c"], "a,b,c", id="just as many as fit"),
        pytest.param(["a", "b", "c", "", "d"], "a,b,c + 2 more...", id="more rules than fit"),
    ],
)
def test_the_first_hosts_are_shown(hosts: list[str], shown: str) -> None:
    obj = {"metadata": META, "spec": {"rules": [{"host": host} for host in hosts]}}
    assert ingress.INGRESS.row(obj, NOW).cells[2] == shown


def test_an_ingress_shows_where_it_is_served() -> None:
    status = {"loadBalancer": {"ingress": [{"hostname": "lb-with-a-rather-long-name.example"}]}}
    obj = {"metadata": META, "spec": {"ingressClassName": "fast", "tls": [{}]}, "status": status}
    cells = INGRESS.row(obj, NOW).cells
    assert cells == ["front", "fast", "*", "lb-with-a-rather-long-name.example", "80, 443", "60m"]
    assert INGRESS.row({"metadata": META}, NOW).cells == ["front", "<none>", "*", "", "80", "60m"]


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        pytest.param(None, "<none>", id="none"),
        pytest.param({"kind": "Conf", "name": "c"}, "Conf/c", id="core"),
        pytest.param({"apiGroup": "g.example", "kind": "Conf", "name": "c"}, "Conf.g.example/c", id="group"),
    ],
)
def test_an_ingress_class_names_its_parameters(parameters: Object | None, shown: str) -> None:
    spec = {"controller": "x/y", **({"parameters": parameters} if parameters else {})}
    assert ingress_class.INGRESS_CLASS.row({"metadata": META, "spec": spec}, NOW).cells == [
        "front",
        "x/y",
        shown,
        "60m",
    ]


def test_the_default_ingress_class_is_marked() -> None:
    meta = {**META, "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    assert ingress_class.INGRESS_CLASS.row({"metadata": meta}, NOW).cells[0] == "front (default)"


def test_a_network_policy_shows_whom_it_is_for() -> None:
    spec = {"podSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}
    assert network_policy.NETWORK_POLICY.row({"metadata": META, "spec": spec}, NOW).cells == ["front", "tier", "60m"]


def test_a_service_cidr_shows_its_ranges() -> None:
    obj = {"metadata": META, "spec": {"cidrs": ["10.0.0.0/16", "fd00::/108"]}}
    assert service_cidr.SERVICE_CIDR.row(obj, NOW).cells == ["front", "10.0.0.0/16,fd00::/108", "60m"]


@pytest.mark.parametrize(
    ("parent", "shown"),
    [
        pytest.param({"resource": "services", "namespace": "x", "name": "s"}, "services/x/s", id="core"),
        pytest.param(
            {"group": "G.example", "resource": "Things", "name": "t"}, "things.g.example/t", id="of a cluster"
        ),
        pytest.param(None, "<none>", id="none"),
    ],
)
def test_an_address_names_its_owner(parent: Object | None, shown: str) -> None:
    obj = {"metadata": META, "spec": {"parentRef": parent} if parent else {}}
    assert ip_address.IP_ADDRESS.row(obj, NOW).cells == ["front", shown, "60m"]
