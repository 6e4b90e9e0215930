"""Stages as KWOK writes them, in a whole cluster: they take the place of the built-in life where they select."""

import asyncio
from textwrap import dedent

import pytest

from mockkube.api.errors import Invalid
from mockkube.client.protocol import Key
from mockkube.kubelet.stages.crd import CRD_NAME, STAGE_CRD

STAGE = "Stage.kwok.x-k8s.io"
TURNS_MAX = 1000
RUNNING = """
{{ $now := Now }}
conditions:
- {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
phase: Running
podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
"""
PENDING = [{"key": ".status.phase", "operator": "In", "values": ["Pending"]}]


async def define(world):
    await world.client.create("CustomResourceDefinition", STAGE_CRD)
    for _ in range(TURNS_MAX):
        await asyncio.sleep(0)
        definition = await world.client.get("CustomResourceDefinition", Key("", CRD_NAME))
        conditions = definition.get("status", {}).get("conditions", ())
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            await world.lab.settle()
            return
    raise AssertionError("stages are not served")


async def add(world, name, kind="Pod", **spec):
    await world.create(STAGE, name, namespace="", spec={"resourceRef": {"kind": kind}, "selector": {}, **spec})


@pytest.fixture
async def staged(world):
    await define(world)
    return world


async def test_a_stage_takes_its_time_and_writes_the_status(staged):
    await add(staged, "run", selector={"matchExpressions": PENDING}, delay={"durationMilliseconds": 2000},
              next={"statusTemplate": RUNNING})  # fmt: skip
    await staged.pod("p")
    assert "podIP" not in await staged.status("p")
    await staged.lab.advance(2)
    status = await staged.status("p")
    assert (status["phase"], status["podIP"].rpartition(".")[0]) == ("Running", "10.244.0")


async def test_pods_that_no_stage_is_for_live_as_ever(staged):
    await add(staged, "run", selector={"matchLabels": {"staged": "yes"}}, next={"statusTemplate": RUNNING})
    await staged.pod("p")
    assert (await staged.status("p"))["phase"] == "Running"
    assert "Started" in await staged.reasons("p")


async def test_a_deleted_pod_waits_for_the_stage_that_lets_it_go(staged):
    await add(staged, "run", selector={"matchExpressions": PENDING}, next={"statusTemplate": RUNNING})
    await staged.pod("p")
    await staged.delete("Pod", "p")
    assert await staged.get("Pod", "p") is not None
    leaving = [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}]
    await add(staged, "go", selector={"matchExpressions": leaving}, steps=[
        {"event": {"type": "Normal", "reason": "Leaving", "message": "goes"}},
        {"finalizers": {"empty": True}, "delete": True},
    ])  # fmt: skip
    assert await staged.get("Pod", "p") is None
    assert "Leaving" in await staged.reasons("p")


async def test_stages_may_apply_other_objects(staged):
    template = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "made-for-{{ .metadata.name }}"}
    data: {node: "{{ .spec.nodeName }}"}
    """
    await add(staged, "run", selector={"matchExpressions": PENDING}, steps=[
        {"apply": {"template": dedent(template)}},
        {"patch": {"root": "status", "subresource": "status", "template": RUNNING}},
    ])  # fmt: skip
    await staged.pod("p")
    assert (await staged.get("ConfigMap", "made-for-p"))["data"] == {"node": "node-1"}
    assert (await staged.status("p"))["phase"] == "Running"


async def test_nodes_have_stages_too(staged, conditions):
    unready = [{"key": '.status.conditions.[] | select( .type == "Ready" ) | .status', "operator": "NotIn",
                "values": ["True"]}]  # fmt: skip
    template = """
    conditions:
    {{ range NodeConditions }}
    - {type: {{ .type }}, status: {{ .status | Quote }}, reason: {{ .reason }}, message: {{ .message }}}
    {{ end }}
    addresses:
    - {type: InternalIP, address: {{ NodeIP | Quote }}}
    - {type: Hostname, address: {{ NodeName }}}
    phase: Running
    """
    await add(
        staged, "initialize", "Node", selector={"matchExpressions": unready}, next={"statusTemplate": dedent(template)}
    )
    await staged.node("n")
    node = await staged.get("Node", "n", "")
    assert conditions(node, "Ready")["status"] == "True"
    assert node["status"]["phase"] == "Running"
    assert {"type": "Hostname", "address": "n"} in node["status"]["addresses"]
    assert "capacity" not in node["status"]
    assert (await staged.get("Lease", "n", "kube-node-lease"))["spec"]["holderIdentity"] == "n"


async def test_a_changed_object_gets_its_stage_anew(staged):
    slow = {"matchExpressions": PENDING}
    await add(staged, "slow", selector=slow, weight=1, delay={"durationMilliseconds": 60000},
              next={"statusTemplate": "reason: slow"})  # fmt: skip
    hasty = {"matchExpressions": [{"key": ".metadata.labels.hasty", "operator": "Exists"}, *PENDING]}
    await add(staged, "hasty", selector=hasty, weight=10**9, next={"statusTemplate": RUNNING})
    await staged.pod("p")
    await staged.merge("Pod", "p", {"metadata": {"labels": {"hasty": "yes"}}})
    assert (await staged.status("p"))["phase"] == "Running"


async def test_a_stage_that_changes_nothing_comes_to_rest(staged):
    await add(staged, "tell", next={"event": {"type": "Normal", "reason": "Seen", "message": "seen"}})
    await staged.pod("p")
    await staged.lab.advance(60)
    assert (await staged.reasons("p")).count("Seen") == 1


async def test_a_stage_that_is_not_understood_is_left_out(staged):
    await add(staged, "bad", selector={"matchExpressions": [{"key": ".a |", "operator": "Exists"}]})
    await staged.pod("p")
    assert (await staged.status("p"))["phase"] == "Running"


async def accepted(world, name):
    """What the stage says is made of it."""
    (found,) = (await world.get(STAGE, name, ""))["status"]["conditions"]
    return found["type"], found["status"], found["reason"], found["message"]


async def told_of(world, name):
    listed = await world.client.list("Event")
    return [one["message"] for one in listed.items if one["involvedObject"]["name"] == name]


async def test_a_stage_that_is_understood_says_so(staged):
    await add(staged, "run", selector={"matchExpressions": PENDING}, next={"statusTemplate": RUNNING})
    assert await accepted(staged, "run") == ("Accepted", "True", "Accepted", "kubelets play it")
    assert await told_of(staged, "run") == []


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"selector": {"matchExpressions": [{"key": ".a | nosuch", "operator": "Exists"}]}},
            "'.a | nosuch': there is no nosuch",
            id="expression",
        ),
        pytest.param({"next": {"statusTemplate": "{{ .a"}}, "an action is not closed: }} is missing", id="template"),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": ".a", "operator": "In"}]}},
            "operator In needs values",
            id="operator without values",
        ),
        pytest.param({"selector": None}, "it has no selector, so it selects no object", id="no selector"),
        pytest.param({"kind": "Service"}, "only Pod and Node are played, not Service", id="another kind"),
    ],
)
async def test_a_stage_that_is_left_out_says_why(staged, spec, why):
    await add(staged, "bad", **spec)
    assert await accepted(staged, "bad") == ("Accepted", "False", "Invalid", why)
    assert await told_of(staged, "bad") == [f"The stage is ignored: {why}"]


async def test_a_stage_that_is_mended_says_so(staged):
    await add(staged, "run", selector={"matchExpressions": PENDING}, next={"statusTemplate": "{{ .a"})
    mended = {"spec": {"next": {"statusTemplate": RUNNING}}}
    await staged.merge(STAGE, "run", mended, "")
    assert (await accepted(staged, "run"))[1] == "True"
    await staged.pod("p")
    assert (await staged.status("p"))["phase"] == "Running"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"resourceRef": None}, "spec.resourceRef: Required value", id="no kind"),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": ".a", "operator": "Is"}]}},
            'operator: Unsupported value: "Is"',
            id="operator",
        ),
        pytest.param({"delay": {"durationMilliseconds": -1}}, "greater than or equal to 0", id="delay"),
        pytest.param({"next": {"finalizers": {"add": [{}]}}}, "add[0].value: Required value", id="finalizer"),
        pytest.param({"steps": [{"patch": {"type": "apply"}}]}, 'patch.type: Unsupported value: "apply"', id="patch"),
    ],
)
async def test_what_can_be_seen_to_be_wrong_is_refused(staged, spec, why):
    with pytest.raises(Invalid) as refused:
        await add(staged, "bad", **spec)
    assert why in refused.value.message


async def test_a_stage_that_fails_for_a_pod_is_told_there(staged):
    await add(staged, "odd", selector={"matchExpressions": PENDING}, next={"statusTemplate": "a: ["})
    await staged.pod("p")
    assert "StageFailed" in await staged.reasons("p")


async def test_a_server_that_is_away_is_told_of_once(staged, caplog):
    await staged.lab.change_component("kube-apiserver", running=False)
    await staged.lab.advance(60)
    told = [record.getMessage() for record in caplog.records if record.name == "mockkube.client"]
    assert len([text for text in told if text.startswith("kubelet")]) == 1
