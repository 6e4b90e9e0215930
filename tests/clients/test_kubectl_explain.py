"""`kubectl explain` and the client side of `kubectl apply`, which read the OpenAPI documents."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Callable[..., str]


@pytest.fixture(scope="module")
def kubectl(newest_kubectl: Any) -> Kubectl:
    """Run kubectl; what it says, on either stream, however it ends."""

    def run(*arguments: str, given: str | None = None) -> str:
        done = newest_kubectl.run(*arguments, given=given)
        return str(done.stdout + done.stderr)

    return run


def squeezed(text: str) -> list[str]:
    """The lines, with the width of columns taken out."""
    return [re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines() if line.strip()]


def workload(env: list[dict[str, str]]) -> str:
    """A deployment whose container has these variables."""
    spec = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "one", "env": env}]},
        },
    }
    metadata = {"name": "web", "namespace": "lab"}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


def test_a_field_is_explained_with_its_values(kubectl: Kubectl) -> None:
    said = squeezed(kubectl("explain", "deployment.spec.strategy.type"))
    assert said[:7] == [
        "GROUP: apps",
        "KIND: Deployment",
        "VERSION: v1",
        "FIELD: type <string>",
        "ENUM:",
        "Recreate",
        "RollingUpdate",
    ]
    assert any(line.startswith('- `"Recreate"` Kill all existing pods') for line in said)


def test_a_whole_kind_is_explained_to_its_leaves(kubectl: Kubectl) -> None:
    said = squeezed(kubectl("explain", "pod", "--recursive"))
    assert "tolerationSeconds <integer>" in said
    assert "topologyKey <string> -required-" in said
    assert len(said) > 1000


@pytest.mark.parametrize(
    ("version", "field"),
    [
        pytest.param("autoscaling/v1", "targetCPUUtilizationPercentage <integer>", id="v1"),
        pytest.param("autoscaling/v2", "metrics <[]MetricSpec>", id="v2"),
    ],
)
def test_each_version_of_a_kind_has_its_own_fields(kubectl: Kubectl, version: str, field: str) -> None:
    assert field in squeezed(kubectl("explain", "hpa.spec", "--api-version", version))


def test_the_protobuf_of_version_2_is_read(kubectl: Kubectl) -> None:
    said = squeezed(kubectl("explain", "pod.spec.containers", "--output", "plaintext-openapiv2"))
    assert said[:3] == ["KIND: Pod", "VERSION: v1", "RESOURCE: containers <[]Object>"]
    assert "image <string>" in said


def test_every_kind_that_is_served_can_be_explained(kubectl: Kubectl) -> None:
    names = kubectl("api-resources", "--output", "name").split()
    assert len(names) > 50
    core_event = "events.events.k8s.io"  # kubectl reads the group as a field of the core kind, as against a real server
    failed = [name for name in names if name != core_event and "FIELDS" not in kubectl("explain", name)]
    assert failed == []


def test_apply_merges_lists_by_the_keys_of_the_documents(kubectl: Kubectl) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}
    kubectl("apply", "-f", "-", given=json.dumps(namespace))
    a, b, c = {"name": "A", "value": "a"}, {"name": "B", "value": "b"}, {"name": "B", "value": "c"}
    applied = [kubectl("apply", "-f", "-", given=workload(env)) for env in ([a, b], [c], [c])]
    assert applied == [f"deployment.apps/web {how}\n" for how in ("created", "configured", "unchanged")]
    path = "jsonpath={.spec.template.spec.containers[*].env}"
    assert kubectl("get", "deployment", "web", "--namespace", "lab", "--output", path) == '[{"name":"B","value":"c"}]'
