"""The fixture `kube` in runs of pytest: no test sees anything of another one, and no run leaves anything behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

# Each test of the suite that leaves something behind is followed by one that compares everything with a fresh cluster.
SUITE: Final = '''
import json, os, ssl, threading, urllib.request
from pathlib import Path

import kubernetes, pytest

pytestmark = pytest.mark.mockkube(nodes=1, clock="virtual")
EXPECTED = Path(os.environ["EXPECTED"])
CONTAINERS = [{"name": "c", "image": "i"}]
ANY = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def get(kube, path):
    request = urllib.request.Request(kube.url + path, headers={"Authorization": f"Bearer {kube.token}"})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=kube.ca_file)) as answer:
        return json.load(answer)


def describe(kube):
    """Everything that a client can list, but events and leases, whose names and number depend on time."""
    assert kube.spy.requests(from_component=False) == []
    assert [thread.name for thread in threading.enumerate()].count("mockkube") == 1
    assert "KUBECONFIG" not in os.environ
    found = {"time": str(kube.clock.advance(0))}
    groups = [one["preferredVersion"]["groupVersion"] for one in get(kube, "/apis")["groups"]]
    for version in ["/api/v1", *(f"/apis/{group}" for group in groups)]:
        for resource in get(kube, version)["resources"]:
            if "list" in resource.get("verbs", ()) and resource["name"] not in ("events", "leases"):
                items = get(kube, f"{version}/{resource['name']}")["items"]
                names = sorted(f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in items)
                found[f"{version}/{resource['name']}"] = names
    components = get(kube, "/apis/control.mockkube.dev/v1alpha1/components")["items"]
    found["components"] = {one["metadata"]["name"]: one["spec"] for one in components}
    return found


def nothing(kube):
    pass


def objects(kube):
    kube.apply([
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": CONTAINERS}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
            "selector": {"matchLabels": {"a": "b"}}, "template": {
                "metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}}},
    ])
    kube.wait("pods", "condition=Ready")
    with kube.api_client() as client:
        kubernetes.client.CoreV1Api(client).delete_node("node-1")


def namespace_in_deletion(kube):
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    kube.apply({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": "n", "finalizers": ["example.dev/hold"]}})
    with kube.api_client() as client:
        kubernetes.client.CoreV1Api(client).delete_namespace("n")
    kube.wait("namespace/n", "jsonpath={.status.phase}=Terminating")


def crd_and_webhook(kube):
    kube.apply([
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
         "metadata": {"name": "widgets.example.dev"}, "spec": {
             "group": "example.dev", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
             "versions": [{"name": "v1", "served": True, "storage": True, "schema": ANY}]}},
        {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}},
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.other.dev"},
         "spec": {
            "group": "other.dev", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 1,
            "insecureSkipTLSVerify": True, "service": {"name": "s", "namespace": "default"}}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
         "metadata": {"name": "refuse"}, "webhooks": [{
             "name": "refuse.example.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
             "clientConfig": {"url": "https://127.0.0.1:1/"},
             "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}]},
    ])


def clock_and_faults(kube):
    kube.clock.advance("3h")
    kube.faults.errors(500).__enter__()
    kube.faults.latency(60, verb="list").__enter__()


def open_watches(kube):
    core = kubernetes.client.CoreV1Api(kube.api_client())
    stream = kubernetes.watch.Watch().stream(core.list_namespaced_pod, "default")
    threading.Thread(target=list, args=(stream,), daemon=True).start()
    core.list_node(watch=True, _preload_content=False)


def components(kube):
    kube.patch_component("kube-scheduler", running=False)
    kube.patch_component("kube-apiserver", version="1.35")


def activated(kube):
    kube.activate()
    kubernetes.config.load_kube_config()


def failing(kube):
    objects(kube)
    raise AssertionError("as it is meant to")


def timed_out(kube):
    kube.wait("pod/none", "create", timeout="10000h")


LEAVING = [
    objects, namespace_in_deletion, crd_and_webhook, clock_and_faults, open_watches, components, activated, failing,
    pytest.param(timed_out, marks=pytest.mark.timeout(2, method="signal")),
]
ALL = [nothing, *(one for leaving in LEAVING for one in (leaving, nothing))]


@pytest.mark.parametrize("leave", ALL)
def test_each_finds_the_same_cluster(kube, leave):
    found = describe(kube)
    if not EXPECTED.exists():
        EXPECTED.write_text(json.dumps(found))
    assert found == json.loads(EXPECTED.read_text())
    leave(kube)
'''
ASYNCHRONOUS: Final = """
import asyncio, pytest, threading, uvloop

SPEC = {"containers": [{"name": "c", "image": "i"}]}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": SPEC}
pytestmark = pytest.mark.mockkube(nodes=1)


async def use(kube):
    assert await kube.apply_async(POD)
    assert await kube.wait_async("pod/p", "condition=Ready")


@pytest.mark.asyncio
async def test_pytest_asyncio(kube):
    await use(kube)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", ("asyncio", {"use_uvloop": True})])
async def test_anyio(kube, anyio_backend):
    await use(kube)


@pytest.fixture
async def pod(kube):
    await use(kube)
    return "p"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_asynchronous_fixture(pod, anyio_backend):
    assert pod == "p"
"""
CLIENTS: Final = """
import kr8s, lightkube, pytest, warnings
from lightkube.resources.core_v1 import ConfigMap

MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
KEPT = []


@pytest.mark.parametrize("name", ["first", "second"])
def test_clients_find_the_cluster_of_their_test(kube, name):
    kube.activate()
    kube.apply({**MAP, "metadata": {"name": name}})
    warnings.simplefilter("ignore")  # kr8s supports versions up to 1.35
    KEPT.append(kr8s.api())  # which kr8s would return for the next cluster, too
    found = {one.name for one in kr8s.get("configmaps", namespace="default")}
    assert found == {name, "kube-root-ca.crt"}
    listed = lightkube.Client().list(ConfigMap, namespace="default")
    assert {one.metadata.name for one in listed} == {name, "kube-root-ca.crt"}
"""
INTERRUPTED: Final = """
import time

def test_it(kube):
    print(f"started {kube.url}", flush=True)
    kube.wait("pod/none", "create", timeout=3600)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of tests, with a directory for temporary files beside it."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = unused\n")
    return tmp_path


def make_command(place: Path, content: str, *options: str) -> dict[str, Any]:
    (place / "test_it.py").write_text(content)
    arguments = ["-p", "no:cacheprovider", "--strict-markers", *options, "test_it.py"]
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PYTEST_ADDOPTS")}
    environment |= {"TMPDIR": str(place / "tmp"), "EXPECTED": str(place / "expected.json")}
    return {"args": [sys.executable, "-m", "pytest", *arguments], "cwd": place, "env": environment, "text": True}


def run(place: Path, content: str, *options: str) -> str:
    done = subprocess.run(**make_command(place, content, *options), capture_output=True, check=False)
    # pytest keeps directories of its own; those of xdist's workers, too.
    shutil.rmtree(place / "tmp" / f"pytest-of-{os.environ.get('USER', 'root')}", ignore_errors=True)
    assert [one.name for one in (place / "tmp").iterdir() if one.name.startswith("mockkube")] == [], done.stdout
    return done.stdout + done.stderr


def test_a_test_finds_nothing_of_the_tests_before(place: Path) -> None:
    output = run(place, SUITE, "-q")
    assert "2 failed, 17 passed" in output, output
    assert set(re.findall(r"^FAILED .*\[(\w+)\]", output, re.MULTILINE)) == {"failing", "timed_out"}, output


@pytest.mark.slow
def test_four_workers_find_the_same_cluster_in_each_test(place: Path) -> None:
    run(place, SUITE, "-q", "-k", "nothing0")
    output = run(place, SUITE, "-q", "-n", "4")
    assert "2 failed, 17 passed" in output, output
    assert set(re.findall(r"^FAILED .*\[(\w+)\]", output, re.MULTILINE)) == {"failing", "timed_out"}, output


def test_plugins_for_asynchronous_tests_use_the_fixture(place: Path) -> None:
    assert "4 passed" in (output := run(place, ASYNCHRONOUS, "-q")), output


def test_clients_that_keep_connections_find_the_cluster_of_their_test(place: Path) -> None:
    assert "2 passed" in (output := run(place, CLIENTS, "-q")), output


def test_control_c_leaves_nothing_behind(place: Path) -> None:
    command = make_command(place, INTERRUPTED, "-s")
    with subprocess.Popen(**command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("test_it.py started"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output = process.stdout.read()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert [one for one in (place / "tmp").iterdir() if one.name.startswith("mockkube")] == []
