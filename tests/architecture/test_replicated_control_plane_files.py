"""The compose file and the manifest of docs/replicated-control-plane start what the page says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.cli.commands import controllers, kubelets, scheduler, up
from mockkube.client import kubeconfig
from mockkube.cluster.configuration.cluster_configuration import SETTINGS, ClusterConfiguration, resolve_configuration
from mockkube.testing.cluster import MockKube

FOLDER = Path(__file__).parents[2] / "docs" / "replicated-control-plane"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())
OBJECTS = [*yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())]
KEY = "0123456789abcdef"
# Commands of the processes that run components, by the name of their service or deployment.
COMPONENTS = {
    "scheduler": ("scheduler", scheduler.command),
    "controller-manager": ("controllers", controllers.command),
    "kubelets": ("kubelets", kubelets.command),
}
MEMBERS = ("etcd-0", "etcd-1", "etcd-2")


def resolve(arguments: Sequence[str], environment: dict[str, str]) -> ClusterConfiguration:
    assert arguments[0] == "up"
    given = up.command.make_context("up", [*arguments[1:]]).params
    given.pop("config")
    flags = {name: value for name, value in given.items() if value is not None and value != ()}
    return resolve_configuration(flags, environment)


def parse_component(service: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the flags of a process that runs a component alone."""
    name, command = COMPONENTS[service]
    assert arguments[0] == name
    return command.make_context(name, [*arguments[1:]]).params


def check_api_servers(configuration: ClusterConfiguration, *, name: str, members: Sequence[str]) -> None:
    assert configuration.join
    assert configuration.cluster_key == KEY
    assert configuration.token == "chosen"
    assert set(configuration.without) == {"scheduler", "controllers", "kubelets"}
    assert name in configuration.cert_extra_sans
    assert configuration.db == "etcd://" + ",".join(f"{member}:2379" for member in members)


def check_kubeconfig(text: str, folder: Path, *, server: str, token_file: str) -> None:
    """Check that the kubeconfig names the load balancer and a token that is mounted."""
    assert f"tokenFile: {token_file}\n" in text
    (folder / "token").write_text("chosen\n")
    (folder / "kubeconfig").write_text(text.replace(token_file, str(folder / "token")))
    config = kubeconfig.load(folder / "kubeconfig")
    assert (config.server, config.token) == (server, "chosen")


def find(kind: str, name: str) -> dict[str, Any]:
    return next(obj for obj in OBJECTS if (obj["kind"], obj["metadata"]["name"]) == (kind, name))


def find_pod_spec(kind: str, name: str) -> Any:
    return find(kind, name)["spec"]["template"]["spec"]


def list_mounted_files(spec: Any) -> list[str]:
    """Return the files of Secrets and ConfigMaps in the only container of a pod."""
    (container,) = spec["containers"]
    folders = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    files = []
    for volume in spec["volumes"]:
        sources = volume.get("projected", {}).get("sources") or ([volume] if "secret" in volume else [])
        for source in sources:
            if "secret" in source:
                secret = source["secret"]
                data = find("Secret", secret.get("secretName") or secret["name"])["stringData"]
                names = [item["path"] for item in secret.get("items", ()) if item["key"] in data] or [*data]
            else:
                names = [*find("ConfigMap", source["configMap"]["name"])["data"]]
            files += [f"{folders[volume['name']]}/{name}" for name in names]
    return files


# The compose file


def test_the_api_servers_of_the_compose_file_join_one_control_plane(tmp_path: Path) -> None:
    service = COMPOSE["services"]["api-server"]
    assert service["environment"] == {
        "MOCKKUBE_CLUSTER_KEY_FILE": "/run/secrets/cluster-key",
        "MOCKKUBE_TOKEN_FILE": "/run/secrets/token",
    }
    assert set(service["secrets"]) == {"cluster-key", "token"} == set(COMPOSE["secrets"])
    assert set(service["environment"]) <= {setting.variable for setting in SETTINGS}
    (tmp_path / "cluster-key").write_text(f"{KEY}\n")
    (tmp_path / "token").write_text("chosen\n")
    variables = {name: str(tmp_path / Path(path).name) for name, path in service["environment"].items()}
    configuration = resolve(service["command"], variables)
    check_api_servers(configuration, name="load-balancer", members=MEMBERS)
    assert service["deploy"]["replicas"] == 3


def test_the_members_of_etcd_in_the_compose_file_know_each_other() -> None:
    cluster = ",".join(f"{name}=http://{name}:2380" for name in MEMBERS)
    for name in MEMBERS:
        service = COMPOSE["services"][name]
        variables = service["environment"]
        assert variables["ETCD_INITIAL_CLUSTER"] == cluster
        assert variables["ETCD_NAME"] == name
        assert variables["ETCD_INITIAL_ADVERTISE_PEER_URLS"] == f"http://{name}:2380"
        assert variables["ETCD_ADVERTISE_CLIENT_URLS"] == f"http://{name}:2379"
        assert service["volumes"] == [f"{name}:{variables['ETCD_DATA_DIR']}"]
        assert name in COMPOSE["volumes"]
        assert name in COMPOSE["services"]["api-server"]["depends_on"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_two_processes_of_each_component_use_the_load_balancer(name: str, tmp_path: Path) -> None:
    service = COMPOSE["services"][name]
    flags = parse_component(name, service["command"])
    (config,) = service["configs"]
    assert str(flags["kubeconfig"]) == config["target"]
    assert service["secrets"] == ["token"]
    text = COMPOSE["configs"][config["source"]]["content"]
    check_kubeconfig(text, tmp_path, server="https://load-balancer:6443", token_file="/run/secrets/token")
    assert f"http://{flags['metrics_bind_address']}/readyz" in service["healthcheck"]["test"][-1]
    assert service["deploy"]["replicas"] == 2


def test_the_load_balancer_distributes_connections_to_all_api_servers() -> None:
    service = COMPOSE["services"]["load-balancer"]
    content = COMPOSE["configs"][service["configs"][0]["source"]]["content"]
    replicas = COMPOSE["services"]["api-server"]["deploy"]["replicas"]
    assert f"server-template api-server {replicas} api-server:6443 " in content


# The manifest


def test_the_api_servers_of_the_manifest_join_one_control_plane(tmp_path: Path) -> None:
    spec = find_pod_spec("Deployment", "api-server")
    (container,) = spec["containers"]
    (tmp_path / "cluster-key").write_text(KEY)
    (tmp_path / "token").write_text("chosen")
    files = list_mounted_files(spec)
    assert files == ["/etc/mockkube/cluster-key", "/etc/mockkube/token"]
    arguments = container["args"]
    for file in files:
        assert any(argument.endswith(f"={file}") for argument in arguments)
        arguments = [argument.replace(file, str(tmp_path / Path(file).name)) for argument in arguments]
    configuration = resolve(arguments, {})
    check_api_servers(configuration, name="mockkube.mockkube.svc", members=[f"{name}.etcd" for name in MEMBERS])
    assert find("Deployment", "api-server")["spec"]["replicas"] == 3


def test_the_members_of_etcd_in_the_manifest_know_each_other() -> None:
    etcd = find("StatefulSet", "etcd")["spec"]
    (container,) = etcd["template"]["spec"]["containers"]
    assert (etcd["replicas"], etcd["serviceName"], etcd["podManagementPolicy"]) == (3, "etcd", "Parallel")
    cluster = ",".join(f"{name}=http://{name}.etcd:2380" for name in MEMBERS)
    assert f"--initial-cluster={cluster}" in container["command"]
    assert "--initial-advertise-peer-urls=http://$(POD_NAME).etcd:2380" in container["command"]
    assert "--name=$(POD_NAME)" in container["command"]
    assert container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    # Before there is a majority no member is ready, and they have to find each other.
    service = find("Service", "etcd")["spec"]
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)


@pytest.mark.parametrize("name", COMPONENTS)
def test_two_pods_of_each_component_use_the_service(name: str, tmp_path: Path) -> None:
    spec = find_pod_spec("Deployment", name)
    (container,) = spec["containers"]
    flags = parse_component(name, container["args"])
    files = list_mounted_files(spec)
    assert files == [str(flags["kubeconfig"]), "/etc/mockkube/token"]
    text = find("ConfigMap", "kubeconfig")["data"]["kubeconfig"]
    check_kubeconfig(text, tmp_path, server="https://mockkube:6443", token_file="/etc/mockkube/token")
    assert container["ports"][0]["containerPort"] == int(flags["metrics_bind_address"].rpartition(":")[2])
    assert find("Deployment", name)["spec"]["replicas"] == 2


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda obj: f"{obj['kind']}-{obj['metadata']['name']}")
def test_services_select_the_pods_of_the_manifest(obj: dict[str, Any]) -> None:
    if obj["kind"] == "Service":
        templates = [other["spec"]["template"] for other in OBJECTS if "template" in other.get("spec", {})]
        assert obj["spec"]["selector"] in [template["metadata"]["labels"] for template in templates]


def test_a_cluster_accepts_the_manifest_and_runs_its_pods() -> None:
    with MockKube(nodes=1, controller_manager={"default-storage-class": "standard"}) as kube:
        kube.apply(FOLDER / "kubernetes.yaml")
        for name in ("api-server", *COMPONENTS):
            kube.wait(f"deployment/{name}", "condition=Available", namespace="mockkube")
        for name in MEMBERS:
            kube.wait(f"pod/{name}", "condition=Ready", namespace="mockkube")
