"""Components are resources like any other, and judged as their binaries judge their flags."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from mockkube.cluster.state.state_directory import RunningRecord, StateDirectory

COMPONENTS = "/apis/control.mockkube.dev/v1alpha1/components"
API_SERVER = f"{COMPONENTS}/kube-apiserver"
GT = "TaintTolerationComparisonOperators"
Start = Callable[..., AbstractAsyncContextManager[Any]]


def condition(obj: dict[str, Any], kind: str) -> tuple[str, str]:
    found = next(one for one in obj["status"]["conditions"] if one["type"] == kind)
    return found["status"], found["reason"]


async def test_every_cluster_has_the_four(control: Any) -> None:
    listed = await control.get(COMPONENTS)
    assert (listed["kind"], listed["apiVersion"]) == ("ComponentList", "control.mockkube.dev/v1alpha1")
    running = {item["metadata"]["name"]: item["status"]["running"] for item in listed["items"]}
    assert running == {
        "kube-apiserver": True,
        "kube-controller-manager": False,
        "kube-scheduler": False,
        "kubelet": False,
    }


async def test_they_are_stored_apart_from_the_cluster(control: Any) -> None:
    before = (await control.get("/api/v1/namespaces"))["metadata"]["resourceVersion"]
    await control.tell("kubelet", featureGates={GT: True})
    assert (await control.get("/api/v1/namespaces"))["metadata"]["resourceVersion"] == before


async def test_status_shows_every_gate_on_or_off(control: Any) -> None:
    gates = (await control.settled("kube-apiserver"))["status"]["featureGates"]
    assert gates["SidecarContainers"]
    assert gates[GT] is False
    gates = (await control.tell("kube-apiserver", featureGates={GT: True}))["status"]["featureGates"]
    assert gates[GT]


async def test_a_gate_that_is_no_longer_told_is_as_the_version_has_it(control: Any) -> None:
    await control.tell("kube-apiserver", featureGates={GT: True})
    told = await control.tell("kube-apiserver", featureGates={GT: None}, version=None)
    assert told["spec"] == {"version": "1.36", "running": True}
    assert told["status"]["featureGates"][GT] is False


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"featureGates": {"NoSuch": True}},
            'spec.featureGates: Invalid value: {"NoSuch":true}: unrecognized feature gate: NoSuch',
            id="unknown gate",
        ),
        pytest.param(
            {"featureGates": {"SidecarContainers": False}},
            'spec.featureGates: Invalid value: {"SidecarContainers":false}: '
            "cannot set feature gate SidecarContainers to false, feature is locked to true",
            id="locked gate",
        ),
        pytest.param(
            {"version": "1.34", "featureGates": {GT: True}},
            f'spec.featureGates: Invalid value: {{"{GT}":true}}: unrecognized feature gate: {GT}',
            id="gate of a later version",
        ),
        pytest.param(
            {"version": "1.20"},
            'spec.version: Invalid value: "1.20": version 1.20 is not supported: give one from 1.33 to 1.37',
            id="old version",
        ),
        pytest.param(
            {"version": "1.99"},
            'spec.version: Invalid value: "1.99": version 1.99 is not supported: give one from 1.33 to 1.37',
            id="version to come",
        ),
        pytest.param(
            {"version": "newest"},
            "spec.version: Invalid value: \"newest\": 'newest' is not a version: give one from 1.33 to 1.37",
            id="no version",
        ),
    ],
)
async def test_a_refusal_is_in_upstreams_words_and_changes_nothing(
    control: Any, spec: dict[str, Any], message: str
) -> None:
    before = await control.settled("kube-apiserver")
    answer = await control.patch(API_SERVER, {"spec": spec})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.message == f'Component.control.mockkube.dev "kube-apiserver" is invalid: {message}'
    assert await control.get(API_SERVER) == before


async def test_a_component_is_called_what_it_is(control: Any) -> None:
    answer = await control.ask("POST", COMPONENTS, {"metadata": {"name": "etcd"}})
    assert answer.status == 422
    assert "metadata.name: Invalid value: \"etcd\": 'etcd' is not a component: give kube-apiserver" in answer.message


async def test_those_of_every_cluster_cannot_be_deleted(control: Any) -> None:
    answer = await control.ask("DELETE", f"{COMPONENTS}/kubelet")
    assert answer.status == 403
    assert answer.message.endswith("every cluster has it: set spec.running to false to stop it")


async def test_a_nodes_kubelet_begins_as_the_fleet_is_and_may_go(control: Any) -> None:
    await control.tell("kubelet", version="1.35", featureGates={GT: True})
    await control.create(COMPONENTS, {"metadata": {"name": "kubelet.n1"}})
    own = await control.settled("kubelet.n1")
    assert own["spec"] == {
        "version": "1.35",
        "featureGates": {GT: True},
        "running": True,
        "server": "kube-apiserver",
    }
    assert (await control.ask("DELETE", f"{COMPONENTS}/kubelet.n1")).status == 200
    assert (await control.ask("GET", f"{COMPONENTS}/kubelet.n1")).status == 404


async def test_kubectl_gets_a_table(control: Any) -> None:
    await control.tell("kube-apiserver", featureGates={GT: True})
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = (await control.ask("GET", COMPONENTS, accept=accept)).body
    shown = [column["name"] for column in table["columnDefinitions"] if not column["priority"]]
    assert shown == ["Name", "Version", "Gates", "Running", "Skew", "Trouble", "Age"]
    assert table["rows"][0]["cells"][:6] == ["kube-apiserver", "1.36", f"{GT}=true", "true", "Supported", "<none>"]


async def test_discovery_and_openapi_know_the_group(control: Any) -> None:
    listed = await control.get("/apis/control.mockkube.dev/v1alpha1")
    assert {resource["name"]: resource["kind"] for resource in listed["resources"]} == {
        "clocks": "Clock",
        "clocks/status": "Clock",
        "components": "Component",
        "components/flagz": "Component",
        "components/metrics": "Component",
        "components/statusz": "Component",
        "components/status": "Component",
        "components/ui": "Component",
        "faults": "Fault",
        "faults/status": "Fault",
        "nodegroups": "NodeGroup",
        "nodegroups/status": "NodeGroup",
        "snapshots": "Snapshot",
        "snapshots/status": "Snapshot",
    }
    groups = [group["name"] for group in (await control.get("/apis"))["groups"]]
    assert "control.mockkube.dev" in groups
    document = await control.get("/openapi/v3/apis/control.mockkube.dev/v1alpha1")
    component = document["components"]["schemas"]["dev.mockkube.control.v1alpha1.Component"]
    assert set(component["properties"]["spec"]["properties"]) == {"version", "featureGates", "running", "server"}


async def test_unknown_fields_are_told_of(control: Any) -> None:
    path = f"{API_SERVER}?fieldValidation=Strict"
    answer = await control.patch(path, {"spec": {"verison": "1.35"}})
    assert answer.status == 422
    assert 'unknown field "spec.verison"' in answer.message


async def test_the_command_line_learns_of_them(start: Start, tmp_path: Any) -> None:
    async with start() as control:
        await control.tell("kube-apiserver", version="1.35")
        record = RunningRecord.read(StateDirectory(tmp_path / "state" / "lab"))
    assert record is not None
    first = record.components[0]
    assert (first.name, first.version, first.running) == ("kube-apiserver", "1.35", True)


class TestVersionSkew:
    async def test_it_is_a_condition(self, control: Any) -> None:
        assert condition(await control.settled("kubelet"), "Supported") == ("True", "Supported")
        await control.tell("kube-scheduler", running=True)
        scheduler = await control.tell("kube-scheduler", version="1.37")
        assert condition(scheduler, "Supported") == ("False", "OutsidePolicy")

    async def test_one_that_is_not_to_run_disturbs_nobody(self, control: Any) -> None:
        scheduler = await control.tell("kube-scheduler", version="1.34")
        assert condition(scheduler, "Supported") == ("True", "Supported")

    async def test_it_is_warned_of_once(self, control: Any) -> None:
        patch = {"spec": {"version": "1.34", "running": True}}
        answer = await control.patch(f"{COMPONENTS}/kube-scheduler", patch)
        reason = "kube-scheduler 1.34 is 2 minor versions older than kube-apiserver 1.36"
        assert [text.partition(":")[0] for text in answer.warnings] == [reason]
        answer = await control.patch(f"{COMPONENTS}/kube-scheduler", {"spec": {"featureGates": {"AllBeta": True}}})
        assert answer.warnings == []

    async def test_it_is_refused_on_demand(self, start: Start) -> None:
        async with start(skew_policy="enforce", without=()) as control:
            answer = await control.patch(f"{COMPONENTS}/kube-scheduler", {"spec": {"version": "1.37"}})
            assert answer.status == 422
            assert "spec.version: Forbidden: kube-scheduler 1.37 is 1 minor version newer than" in answer.message
            assert (await control.patch(f"{COMPONENTS}/kube-scheduler", {"spec": {"version": "1.35"}})).status == 200

    async def test_it_is_passed_over_on_demand(self, start: Start) -> None:
        async with start(skew_policy="ignore", without=()) as control:
            answer = await control.patch(f"{COMPONENTS}/kube-scheduler", {"spec": {"version": "1.33"}})
            assert (answer.status, answer.warnings) == (200, [])
