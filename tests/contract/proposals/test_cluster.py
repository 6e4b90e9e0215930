"""Whole clusters with a proposal from outside: who matches, who places, what a restart and other processes know."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from mockkube.api.errors import Invalid
from mockkube.client import kubeconfig
from mockkube.client.http import HttpClient
from mockkube.client.protocol import Key
from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.features.stages import GateStage, Maturity
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import Version
from mockkube.proposals.proposal import Field, Proposal
from mockkube.runtime.clock import RealClock
from mockkube.testing import MockKube

GATE = "QuietNodes"
ROOT = Path(__file__).parents[3]
CONTAINERS = [{"name": "c", "image": "i"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TOLERATES = {"tolerations": [{"key": "zone", "operator": "Prefix", "value": "eu-"}]}

ELSEWHERE = {"tolerations": [{"key": "zone", "operator": "Prefix", "value": "us-"}]}


def selects(operator, *values):
    terms = [{"matchExpressions": [{"key": "zone", "operator": operator, "values": list(values)}]}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


class World:
    """A laboratory with a node, and pods that try to get there."""

    def __init__(self, laboratory):
        self.laboratory, self.client = laboratory, laboratory.client()

    async def pod(self, name="p", **spec):
        """Return the node that a new pod runs on; empty if it stays Pending."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}}
        await self.client.create("Pod", {**pod, "spec": {"containers": CONTAINERS, **spec}})
        await self.laboratory.advance(30)
        return await self.node_of(name)

    async def node_of(self, name):
        found = [one for one in (await self.client.list("Pod")).items if one["metadata"]["name"] == name]
        return found[0]["spec"].get("nodeName", "") if found else None


@pytest.fixture
async def world(file):
    """A cluster with one node: `await world(gates={...}, components={...}, labels={...}, taints=[...])`."""
    laboratories = []

    async def make(*, gates=None, components=None, labels=None, taints=(), version="1.36"):
        told = {"version": version, "proposals": [file], "nodes": 1, "feature_gates": gates or {}}
        configuration = resolve_configuration({**told, "components": components or {}}, {})
        laboratory = SimulatedCluster(SimulatedClusterConfig(configuration))
        await laboratory.__aenter__()
        laboratories.append(laboratory)
        made = World(laboratory)
        patch = {"metadata": {"labels": labels or {}}, "spec": {"taints": list(taints)}}
        await made.client.patch("Node", Key("", "node-1"), patch)
        await laboratory.settle()
        return made

    yield make
    for one in laboratories:
        await one.__aexit__(None, None, None)


ON = {GATE: True}
EUROPE = {"key": "zone", "value": "eu-west", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        pytest.param(TOLERATES, True, id="the toleration fits"),
        pytest.param(ELSEWHERE, False, id="another does not"),
        pytest.param({}, False, id="none"),
    ],
)  # fmt: skip
async def test_an_operator_of_tolerations_decides_where_a_pod_goes(world, spec, fits):
    cluster = await world(gates=ON, taints=[EUROPE])
    assert await cluster.pod(**spec) == ("node-1" if fits else "")


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        pytest.param(selects("AnyPrefix", "us-", "eu-"), True, id="one of the values fits"),
        pytest.param(selects("AnyPrefix", "us-", "af-"), False, id="none of the values fits"),
        pytest.param(selects("AnyPrefix"), False, id="no values"),
        pytest.param(selects("Suffix", "west"), True, id="of one value, which fits"),
        pytest.param(selects("Suffix", "east"), False, id="of one value, which does not fit"),
    ],
)
async def test_an_operator_of_node_selectors_decides_where_a_pod_goes(world, spec, fits):
    cluster = await world(gates=ON, labels={"zone": "eu-west"})
    assert await cluster.pod(**spec) == ("node-1" if fits else "")


@pytest.mark.parametrize(
    ("label", "least", "fits"),
    [
        pytest.param("5", "1", True, id="all are read"),
        pytest.param("many", "1", False, id="the label is not read"),
        pytest.param("5", "few", False, id="a value is not read"),
    ],
)
async def test_a_value_that_cannot_be_read_does_not_match(world, label, least, fits):
    cluster = await world(gates=ON, labels={"zone": label})
    assert await cluster.pod(**selects("Between", least, "9")) == ("node-1" if fits else "")


@pytest.mark.parametrize(("label", "fits"), [("true", False), ("false", True)])
async def test_a_plugin_of_the_scheduler_decides_where_a_pod_goes(world, label, fits):
    cluster = await world(gates=ON, labels={"loud": label})
    assert await cluster.pod(quiet={"on": True}) == ("node-1" if fits else "")


@pytest.mark.parametrize(
    "scheduler",
    [
        pytest.param({"featureGates": {GATE: False}}, id="gate off"),
        pytest.param({"version": "1.35", "featureGates": {}}, id="older"),
    ],
)
@pytest.mark.parametrize(
    ("labels", "taints", "spec", "fits"),
    [
        pytest.param({}, [EUROPE], TOLERATES, False, id="toleration"),
        pytest.param({"zone": "eu-west"}, [], selects("AnyPrefix", "eu-"), False, id="selector"),
        pytest.param({"loud": "true"}, [], {"quiet": {"on": True}}, True, id="plugin"),
    ],
)
async def test_a_scheduler_that_does_not_have_it_goes_without(world, scheduler, labels, taints, spec, fits):
    cluster = await world(gates=ON, components={"kube-scheduler": scheduler}, labels=labels, taints=taints)
    assert await cluster.pod(**spec) == ("node-1" if fits else "")


@pytest.mark.parametrize(("on", "stays"), [(True, True), (False, False)])
async def test_the_controller_that_evicts_matches_by_its_own_gate(world, on, stays):
    components = {"kube-controller-manager": {"featureGates": {GATE: on}}}
    cluster = await world(gates=ON, components=components, taints=[{**EUROPE, "effect": "NoExecute"}])
    await cluster.pod(**TOLERATES)
    assert (await cluster.node_of("p") is not None) is stays


@pytest.mark.parametrize(("version", "gate"), [("1.36", False), ("1.35", None)])
async def test_an_api_server_without_it_refuses_the_operators(world, version, gate):
    components = {"kube-apiserver": {"version": version, "featureGates": {} if gate is None else {GATE: gate}}}
    cluster = await world(components=components)
    for spec in (TOLERATES, selects("AnyPrefix", "eu-")):
        with pytest.raises(Invalid):
            await cluster.pod(**spec)


async def test_a_restarted_component_has_what_its_new_gates_say(world):
    cluster = await world(gates=ON, taints=[EUROPE])
    await cluster.laboratory.change_component("kube-scheduler", gates={GATE: False})
    assert await cluster.pod(**TOLERATES) == ""
    await cluster.laboratory.change_component("kube-scheduler", gates={GATE: True})
    await cluster.laboratory.advance(30)
    assert await cluster.node_of("p") == "node-1"


async def test_a_check_that_refuses_the_cluster_s_own_objects_is_named(file, tmp_path):
    strict = tmp_path / "strict.py"
    refuse = 'ObjectCheck(lambda obj, at: [invalid("data", "", "is refused")])'
    strict.write_text(
        file.read_text().replace('"Secret": ObjectCheck', f'"ConfigMap": {refuse},\n        "Secret": ObjectCheck')
    )
    with pytest.raises(StartError, match=r"refuses an object that it creates itself: ConfigMap .* is refused"):
        async with MockKube(proposals=[strict], feature_gates=ON):
            pass


async def test_clusters_of_one_process_differ_in_their_proposals(world):
    await world(gates=ON)
    plain = SimulatedCluster(SimulatedClusterConfig(resolve_configuration({"nodes": 1}, {})))
    async with plain:
        with pytest.raises(Invalid):
            await World(plain).pod(**TOLERATES)


async def _stored(kube):
    async with kube.client() as client:
        return await client.get("ConfigMap", Key("default", "c"))


async def test_kept_state_is_read_with_the_proposals_of_the_start(file, tmp_path):
    settings = {"db": f"sqlite:///{tmp_path / 'kept.db'}", "ephemeral": False, "without": ["scheduler", "controllers"]}
    given = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    async with MockKube(proposals=[file], feature_gates=ON, **settings) as kube, kube.client() as client:
        await client.create("ConfigMap", {**given, "quiet": {"level": 3}})
    async with MockKube(proposals=[file], **settings) as kube:
        assert (await _stored(kube))["quiet"] == {"level": 3}
    async with MockKube(**settings) as kube:
        assert "quiet" not in await _stored(kube)


STAGES = (GateStage(Version(1, 36), Maturity.BETA, True),)
LABELLED = Proposal(
    kep=9998,
    gate="LabelledSecrets",
    train=ReleaseTrain("LabelledSecrets", stages=STAGES),
    fields={"io.k8s.api.core.v1.Secret": {"label": Field({"type": "string"})}},
)


@pytest.mark.mockkube(proposals=[LABELLED], without=["scheduler", "controllers"])
def test_the_fixture_takes_proposals(kube):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "label": "own"}
    request = urllib.request.Request(
        f"{kube.url}/api/v1/namespaces/default/secrets",
        json.dumps(secret).encode(),
        {"Authorization": f"Bearer {kube.token}", "Content-Type": "application/json"},
    )
    context = ssl.create_default_context(cafile=kube.ca_file)
    with urllib.request.urlopen(request, context=context) as answer:
        assert json.load(answer)["label"] == "own"


def test_openapi_documents_show_the_fields_of_the_version(file):
    with MockKube(proposals=[file], without=["scheduler", "controllers"]) as kube:
        paths = [("/openapi/v2", "definitions"), ("/openapi/v3/api/v1", "components.schemas")]
        for path, way in paths:
            document = _get(kube, path)
            for step in way.split("."):
                document = document[step]
            shown = document["io.k8s.api.core.v1.PodSpec"]["properties"]["quiet"]
            assert shown["description"] == "How quiet it has to be."
            assert shown["properties"]["level"]["format"] == "int32"
        kube.patch_component("kube-apiserver", version="1.35")
        older = _get(kube, "/openapi/v2")["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
        assert "quiet" not in older


def _get(kube, path):
    request = urllib.request.Request(f"{kube.url}{path}", headers={"Authorization": f"Bearer {kube.token}"})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=kube.ca_file)) as answer:
        return json.load(answer)


PLAN = """
apiVersion: mockkube.dev/v1alpha1
kind: RolloutPlan
metadata: {name: quiet, kep: 9999, source: KEP-9999}
spec:
  change:
    kube-apiserver: {gates: {QuietNodes: true}}
    kube-scheduler: {gates: {QuietNodes: true}}
  nodes:
  - taints: [{key: zone, value: eu-west, effect: NoSchedule}]
  workload:
  - apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec:
      containers: [{name: web, image: web}]
      tolerations: [{key: zone, operator: Prefix, value: eu-, effect: NoSchedule}]
"""
SCENARIO = """
apiVersion: mockkube.dev/v1alpha1
kind: Scenario
metadata: {name: quiet}
spec:
  matrix: {gate: [true, false]}
  cluster: {featureGates: {QuietNodes: ($gate)}, nodes: 1}
  steps:
  - create:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: c}
      quiet: {level: 1}
  - assert: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
"""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("test", "quiet.yaml", "--jobs", "2"), id="test"),
        pytest.param(("explore", "plan.yaml", "--jobs", "2", "-o", "json"), id="explore"),
    ],
)
@pytest.mark.parametrize("by", ["flag", "variable"])
def test_worker_processes_know_it(file, tmp_path, command, by):
    (tmp_path / "quiet.yaml").write_text(SCENARIO)
    (tmp_path / "plan.yaml").write_text(PLAN)
    flags = ["--proposal", str(file)] if by == "flag" else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **({} if flags else {"MOCKKUBE_PROPOSALS": str(file)})}
    arguments = [sys.executable, "-m", "mockkube", *flags, *command]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if command[0] == "explore":
        phases = json.loads(done.stdout)
        assert phases


async def test_a_cluster_of_its_own_process_knows_it(file, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path)}
    ready = tmp_path / "ready.json"
    arguments = ["--proposal", str(file), "up", "--port", "0", "--ephemeral", "--feature-gates", f"{GATE}=true"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mockkube", *arguments, "--ready-file", str(ready), "--name", "quiet",
        env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert b"is ready" in await process.stdout.readline()
        access = kubeconfig.load(Path(json.loads(ready.read_text())["kubeconfig"]), "")
        async with HttpClient(access, "test", clock=RealClock()) as client:
            given = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
            made = await client.create("ConfigMap", {**given, "quiet": {"on": False}})
        assert made["quiet"] == {"on": False}
    finally:
        process.terminate()
        await process.wait()
