from datetime import UTC, datetime

import pytest

from mockkube.api.json_objects import Object
from mockkube.api.kinds.core.endpoints import ENDPOINTS
from mockkube.api.kinds.core.service.printer import SERVICE
from mockkube.api.kinds.discovery.endpoint_slice import ENDPOINT_SLICE

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "shop", "creationTimestamp": "2026-03-14T11:00:00Z"}
BALANCED = {"loadBalancer": {"ingress": [{"hostname": "a.example"}, {"ip": "9.9.9.9"}, {"ip": "9.9.9.9"}]}}


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        pytest.param({"type": "ClusterIP"}, {}, "<none>", id="inside"),
        pytest.param({"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]}, {}, "1.1.1.1,2.2.2.2", id="given"),
        pytest.param({"type": "LoadBalancer"}, {}, "<pending>", id="no balancer yet"),
        pytest.param({"type": "LoadBalancer"}, BALANCED, "9.9.9.9,a.example", id="balancer"),
        pytest.param({"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]}, {}, "1.1.1.1", id="given, no balancer yet"),
        pytest.param(
            {"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]}, BALANCED, "9.9.9.9,a.example,1.1.1.1", id="both"
        ),
        pytest.param({"type": "ExternalName", "externalName": "db.example"}, {}, "db.example", id="name"),
        pytest.param({}, {}, "<unknown>", id="no type"),
    ],
)
def test_the_external_address_depends_on_the_type(spec: Object, status: Object, shown: str) -> None:
    assert SERVICE.row({"metadata": META, "spec": spec, "status": status}, NOW).cells[3] == shown


def test_a_service_shows_its_ports_and_selector() -> None:
    spec = {
        "type": "NodePort",
        "clusterIPs": ["10.0.0.7", "fd00::7"],
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
        "selector": {"app": "shop"},
    }
    cells = SERVICE.row({"metadata": META, "spec": spec}, NOW).cells
    assert cells == ["shop", "NodePort", "10.0.0.7", "<none>", "80:30080/TCP,53/UDP", "60m", "app=shop"]
    assert SERVICE.row({"metadata": META, "spec": {}}, NOW).cells[4] == "<none>"


def subset(ips: str, *ports: int) -> Object:
    return {"addresses": [{"ip": ip} for ip in ips.split()], "ports": [{"port": port} for port in ports]}


@pytest.mark.parametrize(
    ("subsets", "shown"),
    [
        pytest.param([], "<none>", id="none"),
        pytest.param([{"notReadyAddresses": [{"ip": "1.1.1.1"}]}], "", id="none that is ready"),
        pytest.param([subset("1.1.1.1 fd00::1", 80)], "1.1.1.1:80,[fd00::1]:80", id="with a port"),
        pytest.param([subset("1.1.1.1 2.2.2.2")], "1.1.1.1,2.2.2.2", id="headless"),
        pytest.param(
            [subset("1.1.1.1 2.2.2.2", 80, 443), subset("3.3.3.3")],
            "1.1.1.1:80,2.2.2.2:80,1.1.1.1:443 + 2 more...",
            id="more than fit",
        ),
    ],
)
def test_endpoints_are_addresses_at_ports(subsets: list[Object], shown: str) -> None:
    assert ENDPOINTS.row({"metadata": META, "subsets": subsets}, NOW).cells == ["shop", shown, "60m"]


def test_a_slice_shows_the_first_ports_and_addresses() -> None:
    obj = {
        "metadata": META,
        "addressType": "IPv4",
        "ports": [{"port": 80, "name": "http"}, {"name": "any"}, {}, {"port": 81}],
        "endpoints": [{"addresses": ["1.1.1.1", "2.2.2.2"]}, {"addresses": ["3.3.3.3"]}],
    }
    cells = ENDPOINT_SLICE.row(obj, NOW).cells
    assert cells == ["shop", "IPv4", "80,any,* + 1 more...", "1.1.1.1,2.2.2.2,3.3.3.3", "60m"]


def test_an_empty_slice_says_so() -> None:
    assert ENDPOINT_SLICE.row({"metadata": META, "addressType": "IPv6"}, NOW).cells[2:4] == ["<unset>", "<unset>"]
