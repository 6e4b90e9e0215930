"""kubectl of every supported version does its everyday work against the cluster."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from tests.clients.conftest import Kubectl

Object = dict[str, Any]


def config(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str, replicas: int = 1, image: str = "image:1") -> Object:
    container = {"name": "main", "image": image, "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def pod(name: str) -> Object:
    spec = {"containers": [{"name": "main", "image": "image:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def columns(text: str) -> list[list[str]]:
    """A table as rows of words."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def test_create_from_a_file_and_by_its_own_words(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", given=config("made", a="1")) == "configmap/made created\n"
    assert kubectl("create", "configmap", "spoken", "--from-literal=a=1") == "configmap/spoken created\n"
    assert kubectl("create", "secret", "generic", "hidden", "--from-literal=a=1") == "secret/hidden created\n"
    assert kubectl("create", "deployment", "web-made", "--image=image:1") == "deployment.apps/web-made created\n"
    assert kubectl.json("get", "configmap", "made")["data"] == kubectl.json("get", "configmap", "spoken")["data"]
    again = kubectl.run("create", "-f", "-", given=config("made"))
    assert again.stderr == (
        'Error from server (AlreadyExists): error when creating "STDIN": configmaps "made" already exists\n'
    )


def test_apply_creates_configures_and_leaves_unchanged(kubectl: Kubectl) -> None:
    said = [
        kubectl("apply", "-f", "-", given=given)
        for given in (config("applied", a="1"), config("applied", b="2"), config("applied", b="2"))
    ]
    assert said == [f"configmap/applied {how}\n" for how in ("created", "configured", "unchanged")]
    assert kubectl.json("get", "configmap", "applied")["data"] == {"b": "2"}


def test_get_shows_a_table_names_and_paths(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=pod("shown"))
    plain = columns(kubectl("get", "pod", "shown"))
    wide = columns(kubectl("get", "pod", "shown", "--output", "wide"))
    assert plain[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert plain[1][:4] == ["shown", "0/1", "Pending", "0"]
    assert wide[0] == [*plain[0], "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert kubectl("get", "pod/shown", "--output", "name") == "pod/shown\n"
    assert kubectl("get", "po", "-l", "app=shown", "--output", "jsonpath={.items[*].metadata.name}") == "shown"
    assert kubectl("get", "pods", "--field-selector", "metadata.name=nobody", "--output", "name") == ""
    custom = kubectl("get", "pod", "shown", "--output", "custom-columns=N:.metadata.name,I:.spec.containers[0].image")
    assert columns(custom) == [["N", "I"], ["shown", "image:1"]]
    assert yaml.safe_load(kubectl("get", "pod", "shown", "--output", "yaml"))["kind"] == "Pod"


def test_get_of_several_kinds_and_of_all(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("listed"))
    kubectl("apply", "-f", "-", given=config("listed"))
    both = kubectl("get", "deployments,configmaps", "--output", "name").split()
    assert {"deployment.apps/listed", "configmap/listed"} <= set(both)
    assert "deployment.apps/listed" in kubectl("get", "all", "--output", "name").split()
    missing = kubectl.run("get", "pod", "nobody")
    assert missing.stderr == 'Error from server (NotFound): pods "nobody" not found\n'
    assert missing.returncode == 1


def test_describe_tells_about_an_object_and_its_parts(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("described"))
    kubectl("apply", "-f", "-", given=pod("described"))
    said = kubectl("describe", "deployment", "described")
    assert re.search(r"^Selector: +app=described$", said, re.MULTILINE)
    assert re.search(r"^Replicas: +1 desired \| 0 updated \| 0 total", said, re.MULTILINE)
    assert re.search(r"^Events: +<none>$", said, re.MULTILINE)
    assert re.search(r"^QoS Class: +BestEffort$", kubectl("describe", "pod", "described"), re.MULTILINE)
    assert re.search(r"^Name: +" + kubectl.namespace, kubectl("describe", "namespace", kubectl.namespace), re.MULTILINE)


def test_label_and_annotate_add_change_and_remove(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config("marked"))
    assert kubectl("label", "configmap", "marked", "side=left") == "configmap/marked labeled\n"
    refused = kubectl.run("label", "configmap", "marked", "side=right")
    assert "'side' already has a value (left), and --overwrite is false" in refused.stderr
    kubectl("label", "configmap", "marked", "side=right", "--overwrite")
    annotated = kubectl("annotate", "configmap", "marked", "note=said")
    assert annotated == f"configmap/marked {'annotate' if kubectl.version == (1, 27) else 'annotated'}\n"
    metadata = kubectl.json("get", "configmap", "marked")["metadata"]
    assert (metadata["labels"], metadata["annotations"]["note"]) == ({"side": "right"}, "said")
    assert kubectl("label", "configmap", "marked", "side-") == "configmap/marked unlabeled\n"
    assert "labels" not in kubectl.json("get", "configmap", "marked")["metadata"]


def test_taint_and_cordon_a_node(kubectl: Kubectl) -> None:
    node = kubectl("get", "nodes", "--output", "jsonpath={.items[0].metadata.name}")
    key = f"key-{kubectl.version[1]}"
    assert kubectl("taint", "node", node, f"{key}=value:NoSchedule") == f"node/{node} tainted\n"
    taints = kubectl.json("get", "node", node)["spec"]["taints"]
    assert {"key": key, "value": "value", "effect": "NoSchedule"} in taints
    assert kubectl("taint", "node", node, f"{key}:NoSchedule-") == f"node/{node} untainted\n"
    assert kubectl("cordon", node) == f"node/{node} cordoned\n"
    assert "SchedulingDisabled" in kubectl("get", "node", node)
    assert kubectl("uncordon", node) == f"node/{node} uncordoned\n"
    assert "SchedulingDisabled" not in kubectl("get", "node", node)


def test_drain_says_what_it_would_do(kubectl: Kubectl) -> None:
    node = kubectl("get", "nodes", "--output", "jsonpath={.items[1].metadata.name}")
    placed = pod("placed")
    placed["spec"]["nodeName"] = node
    kubectl("apply", "-f", "-", given=placed)
    said = kubectl("drain", node, "--dry-run=server", "--force", "--ignore-daemonsets")
    assert f"node/{node} cordoned (server dry run)" in said
    assert "spec" in kubectl.json("get", "pod", "placed")
    assert "unschedulable" not in kubectl.json("get", "node", node)["spec"]


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param("strategic", '{"data": {"new": "2"}}', id="strategic"),
        pytest.param("merge", '{"data": {"new": "2"}}', id="merge"),
        pytest.param("json", '[{"op": "add", "path": "/data/new", "value": "2"}]', id="json"),
    ],
)
def test_patch_of_each_type(kubectl: Kubectl, kind: str, patch: str) -> None:
    kubectl("apply", "-f", "-", given=config(f"patched-{kind}", old="1"))
    said = kubectl("patch", "configmap", f"patched-{kind}", "--type", kind, "--patch", patch)
    assert said == f"configmap/patched-{kind} patched\n"
    assert kubectl.json("get", "configmap", f"patched-{kind}")["data"] == {"old": "1", "new": "2"}


def test_patch_of_a_status(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("reported"))
    kubectl(
        "patch", "deployment", "reported", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":3}}'
    )
    assert kubectl.json("get", "deployment", "reported")["status"]["replicas"] == 3


def test_scale_and_set_image_change_the_spec(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("scaled"))
    assert kubectl("scale", "deployment", "scaled", "--replicas=3") == "deployment.apps/scaled scaled\n"
    assert kubectl("set", "image", "deployment/scaled", "main=image:2") == "deployment.apps/scaled image updated\n"
    spec = kubectl.json("get", "deployment", "scaled")["spec"]
    assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (3, "image:2")
    wrong = kubectl.run("scale", "deployment", "scaled", "--current-replicas=7", "--replicas=1")
    assert "Expected replicas to be 7, was 3" in wrong.stderr


def test_rollouts_are_followed_and_restarted(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("rolled"))
    waiting = kubectl("rollout", "status", "deployment/rolled", "--watch=false")
    assert waiting == "Waiting for deployment spec update to be observed...\n"
    status = (
        '{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}'
    )
    kubectl("patch", "deployment", "rolled", "--subresource=status", "--type=merge", "--patch", status)
    assert kubectl("rollout", "status", "deployment/rolled") == 'deployment "rolled" successfully rolled out\n'
    assert kubectl("rollout", "restart", "deployment/rolled") == "deployment.apps/rolled restarted\n"
    template = kubectl.json("get", "deployment", "rolled")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]
    history = kubectl("rollout", "history", "deployment/rolled")  # there is none without a controller
    assert history == "deployment.apps/rolled \nNo rollout history found.\n"
    assert kubectl("rollout", "pause", "deployment/rolled") == "deployment.apps/rolled paused\n"


def test_wait_returns_when_the_condition_is_met(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=pod("awaited"))
    arguments = ["wait", "pod/awaited", "--for=condition=Ready", "--timeout=20s"]
    whole = [kubectl.path, "--namespace", kubectl.namespace, *arguments]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, text=True, env=kubectl.environment) as waiting:
        ready = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
        kubectl("patch", "pod", "awaited", "--subresource=status", "--type=merge", "--patch", ready)
        said, _ = waiting.communicate(timeout=20)
    assert said == "pod/awaited condition met\n"
    assert kubectl("wait", "pod/awaited", "--for=jsonpath={.status.phase}=Pending") == "pod/awaited condition met\n"


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=pod("deleted"))
    kubectl("apply", "-f", "-", given=config("deleted"))
    assert kubectl("delete", "pod", "deleted", "--now") == f'pod "deleted" deleted{place(kubectl)}\n'
    assert kubectl("delete", "-f", "-", given=config("deleted")) == f'configmap "deleted" deleted{place(kubectl)}\n'
    assert kubectl("get", "pod,configmap", "deleted", "--ignore-not-found") == ""
    again = kubectl.run("delete", "pod", "deleted")
    assert again.stderr == 'Error from server (NotFound): pods "deleted" not found\n'
    assert kubectl("delete", "pod", "deleted", "--ignore-not-found") == ""


def place(kubectl: Kubectl) -> str:
    """How kubectl says where something was deleted, since it does."""
    return f" from {kubectl.namespace} namespace" if kubectl.version >= (1, 34) else ""


def test_delete_by_selector_and_by_collection(kubectl: Kubectl) -> None:
    for name in ("one", "two"):
        kubectl("create", "secret", "generic", f"many-{name}")
        kubectl("label", "secret", f"many-{name}", f"which={name}", "set=many")
    kubectl("delete", "secrets", "--selector", "which=one")
    assert kubectl("get", "secrets", "-l", "set=many", "--output", "name") == "secret/many-two\n"
    kubectl("delete", "secrets", "--all")
    assert kubectl("get", "secrets", "--output", "name") == ""


def test_explain_reads_the_documents(kubectl: Kubectl) -> None:
    assert "FIELDS:" in kubectl("explain", "deployment.spec.template.spec.tolerations")
    assert "tolerationSeconds" in kubectl("explain", "pod.spec", "--recursive")


def test_what_is_served_is_listed(kubectl: Kubectl) -> None:
    resources = columns(kubectl("api-resources"))
    assert resources[0] == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in resources
    assert "pods" in kubectl("api-resources", "--namespaced=true", "--verbs=list,watch", "--output", "name").split()
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "autoscaling/v2"} <= set(versions)
    assert versions == sorted(versions)
    assert "v1.36" in kubectl("version")
    assert "is running at" in kubectl("cluster-info")


def test_diff_shows_what_apply_would_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config("compared", a="1"))
    same = kubectl.run("diff", "-f", "-", given=config("compared", a="1"))
    other = kubectl.run("diff", "-f", "-", given=config("compared", a="2"))
    assert (same.returncode, same.stdout) == (0, "")
    assert other.returncode == 1
    assert '\n-  a: "1"\n+  a: "2"\n' in other.stdout
    assert kubectl.json("get", "configmap", "compared")["data"] == {"a": "1"}


def test_dry_runs_and_strict_validation_store_nothing(kubectl: Kubectl) -> None:
    kubectl("apply", "--dry-run=server", "-f", "-", given=config("never"))
    unknown = kubectl.run("apply", "-f", "-", given={**config("never"), "surplus": 1})
    assert 'unknown field "surplus"' in unknown.stderr
    warned = kubectl.run("apply", "--validate=warn", "-f", "-", given={**config("warned"), "surplus": 1})
    assert (warned.returncode, warned.stderr) == (0, 'Warning: unknown field "surplus"\n')
    assert kubectl("get", "configmap", "never", "--ignore-not-found") == ""


def test_edit_by_replace_needs_the_current_version(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config("replaced", a="1"))
    current = kubectl.json("get", "configmap", "replaced")
    assert kubectl("replace", "-f", "-", given={**current, "data": {"a": "2"}}) == "configmap/replaced replaced\n"
    stale = kubectl.run("replace", "-f", "-", given={**current, "data": {"a": "3"}})
    assert "Error from server (Conflict)" in stale.stderr
    assert "the object has been modified" in stale.stderr


def test_whoami_names_the_administrator(kubectl: Kubectl) -> None:
    if kubectl.version > (1, 27):  # that one asks by versions that are served no more
        assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"


def test_watch_shows_changes_as_they_come(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=config("watched"))
    whole = [kubectl.path, "-n", kubectl.namespace, "get", "cm", "watched", "--watch", "--output", "name"]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, text=True, env=kubectl.environment) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "configmap/watched\n"
        kubectl("label", "configmap", "watched", "changed=yes")
        assert watching.stdout.readline() == "configmap/watched\n"
        watching.terminate()


def test_expose_run_autoscale_and_create_token(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=deployment("front"))
    assert kubectl("expose", "deployment", "front", "--port=80") == "service/front exposed\n"
    assert kubectl.json("get", "service", "front")["spec"]["selector"] == {"app": "front"}
    assert kubectl("run", "lonely", "--image=image:1") == "pod/lonely created\n"
    scaled = kubectl("autoscale", "deployment", "front", "--max=3", "--cpu-percent=50")
    assert scaled == "horizontalpodautoscaler.autoscaling/front autoscaled\n"
    assert kubectl("create", "token", "default").count(".") == 2
