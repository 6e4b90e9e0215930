"""Variables for Services in the environment of containers."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import ConfigError, build_environment, expand_sub_path
from mockkube.shell.containers.service_variables import build_service_variables
from mockkube.shell.containers.volumes import VolumeError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PORT = {"port": 80, "protocol": "TCP"}


def service(name: str, namespace: str = "ns", created: str = "2029-01-01T00:00:00Z", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"clusterIP": "10.96.0.5", "ports": [PORT], **spec}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"containers": [], **spec}}


def test_a_service_has_the_variables_of_its_ports() -> None:
    ports = [{"name": "web-ui", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    assert build_service_variables(pod(), [service("my-svc", ports=ports)], NOW) == {
        "MY_SVC_SERVICE_HOST": "10.96.0.5",
        "MY_SVC_SERVICE_PORT": "80",
        "MY_SVC_SERVICE_PORT_WEB_UI": "80",
        "MY_SVC_SERVICE_PORT_DNS": "53",
        "MY_SVC_PORT": "tcp://10.96.0.5:80",
        "MY_SVC_PORT_80_TCP": "tcp://10.96.0.5:80",
        "MY_SVC_PORT_80_TCP_PROTO": "tcp",
        "MY_SVC_PORT_80_TCP_PORT": "80",
        "MY_SVC_PORT_80_TCP_ADDR": "10.96.0.5",
        "MY_SVC_PORT_53_UDP": "udp://10.96.0.5:53",
        "MY_SVC_PORT_53_UDP_PROTO": "udp",
        "MY_SVC_PORT_53_UDP_PORT": "53",
        "MY_SVC_PORT_53_UDP_ADDR": "10.96.0.5",
    }


@pytest.mark.parametrize(
    ("one", "spec", "has_variables"),
    [
        pytest.param(service("a"), {}, True, id="of the namespace"),
        pytest.param(service("a", "other"), {}, False, id="of another namespace"),
        pytest.param(service("a"), {"enableServiceLinks": False}, False, id="without links"),
        pytest.param(service("kubernetes", "default"), {"enableServiceLinks": False}, True, id="of the API server"),
        pytest.param(service("a", clusterIP="None"), {}, False, id="headless"),
        pytest.param(service("a", type="ExternalName", clusterIP=""), {}, False, id="an external name"),
        pytest.param(service("a", created="2030-01-01T00:00:01Z"), {}, False, id="created after the start"),
    ],
)
def test_some_services_have_variables(one: dict[str, Any], spec: dict[str, Any], has_variables: bool) -> None:
    assert bool(build_service_variables(pod(**spec), [one], NOW)) is has_variables


def test_ipv6_addresses_are_in_brackets() -> None:
    found = build_service_variables(pod(), [service("a", clusterIP="fd00::5")], NOW)
    assert (found["A_SERVICE_HOST"], found["A_PORT"]) == ("fd00::5", "tcp://[fd00::5]:80")


def test_the_container_overrides_and_refers_to_variables_of_services() -> None:
    env = [{"name": "A_PORT", "value": "own"}, {"name": "URL", "value": "http://$(A_SERVICE_HOST)/"}]
    start = ContainerStart(began=NOW, services=lambda: [service("a")])
    variables = build_environment(pod(), {"name": "c", "env": env}, start).variables
    assert (variables["A_PORT"], variables["URL"]) == ("own", "http://10.96.0.5/")
    # Variables of Services come last.
    assert list(variables)[-1] == "A_PORT_80_TCP_ADDR"


def test_variables_of_optional_objects_may_be_missing() -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k", "optional": True}}}]
    container = {"name": "c", "env": env, "envFrom": [{"configMapRef": {"name": "none", "optional": True}}]}
    assert "A" not in build_environment(pod(), container, ContainerStart(lookup=lambda *key: None)).variables


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"envFrom": [{"configMapRef": {"name": "x"}}]}, 'configmap "x" not found', id="a config map"),
        pytest.param({"envFrom": [{"secretRef": {"name": "x"}}]}, 'secret "x" not found', id="a secret"),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "known", "key": "k"}}}]},
            "couldn't find key k in ConfigMap ns/known",
            id="a key",
        ),
    ],
)
def test_a_variable_without_a_value_is_a_configuration_error(fields: dict[str, Any], message: str) -> None:
    start = ContainerStart(lookup=lambda kind, namespace, name: {"data": {}} if name == "known" else None)
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        build_environment(pod(), {"name": "c", **fields}, start)


def test_a_sub_path_needs_all_of_its_variables() -> None:
    assert expand_sub_path("a/$(B)", {"B": "b"}) == "a/b"
    with pytest.raises(VolumeError, match="missing value for C, D"):
        expand_sub_path("$(D)/$(C)", {"C": ""})
