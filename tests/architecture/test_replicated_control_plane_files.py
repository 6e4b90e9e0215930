"""The compose file and the manifest of docs/replicated-control-plane start what the page says."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.cli.commands.up import command
from mockkube.cluster.configuration.cluster_configuration import SETTINGS, ClusterConfiguration, resolve_configuration
from mockkube.testing.cluster import MockKube

FOLDER = Path(__file__).parents[2] / "docs" / "replicated-control-plane"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
OBJECTS = [*yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())]


def resolve(arguments: list[str], environment: dict[str, str]) -> ClusterConfiguration:
    assert arguments[0] == "up"
    given = command.make_context("up", arguments[1:]).params
    given.pop("config")
    flags = {name: value for name, value in given.items() if value is not None and value != ()}
    return resolve_configuration(flags, environment)


def find(kind: str, name: str) -> dict[str, Any]:
    return next(obj for obj in OBJECTS if (obj["kind"], obj["metadata"]["name"]) == (kind, name))


def test_the_processes_of_the_compose_file_join_one_control_plane(tmp_path: Path) -> None:
    service = COMPOSE["services"]["mockkube"]
    secret = service["environment"]["MOCKKUBE_CLUSTER_KEY_FILE"]
    assert secret == f"/run/secrets/{service['secrets'][0]}"
    assert service["secrets"][0] in COMPOSE["secrets"]
    (tmp_path / "key").write_text("0123456789abcdef\n")
    configuration = resolve(service["command"], {"MOCKKUBE_CLUSTER_KEY_FILE": str(tmp_path / "key")})
    assert configuration.join
    assert configuration.cluster_key == "0123456789abcdef"
    assert configuration.cert_extra_sans == ("load-balancer",)
    assert configuration.db == "etcd://etcd:2379"
    assert "etcd" in COMPOSE["services"]
    assert service["deploy"]["replicas"] == 3


def test_variables_of_the_compose_file_exist() -> None:
    known = {setting.variable for setting in SETTINGS}
    assert set(COMPOSE["services"]["mockkube"]["environment"]) <= known


def test_the_processes_of_the_manifest_join_one_control_plane() -> None:
    (container,) = find("Deployment", "mockkube")["spec"]["template"]["spec"]["containers"]
    (variable,) = container["env"]
    reference = variable["valueFrom"]["secretKeyRef"]
    key = find("Secret", reference["name"])["stringData"][reference["key"]]
    configuration = resolve(container["args"], {variable["name"]: key})
    assert configuration.join
    assert configuration.cluster_key == key
    assert "mockkube.mockkube.svc" in configuration.cert_extra_sans


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: f"{obj['kind']}-{obj['metadata']['name']}")
def test_services_select_the_pods_of_the_manifest(obj: dict[str, Any]) -> None:
    if obj["kind"] == "Service":
        templates = [other["spec"]["template"] for other in OBJECTS if "template" in other.get("spec", {})]
        assert obj["spec"]["selector"] in [template["metadata"]["labels"] for template in templates]


def test_a_cluster_accepts_the_manifest_and_runs_its_pods() -> None:
    with MockKube(nodes=1, controller_manager={"default-storage-class": "standard"}) as kube:
        kube.apply(FOLDER / "kubernetes.yaml")
        kube.wait("deployment/mockkube", "condition=Available", namespace="mockkube")
        kube.wait("pod/etcd-0", "condition=Ready", namespace="mockkube")
