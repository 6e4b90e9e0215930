"""Fields outside the pod spec that an API server drops, but would keep with its new settings."""

from typing import Any

import pytest

from mockkube.api.patching.patch_type import PatchType
from mockkube.explore.observation.operator_requests import OperatorRequest
from mockkube.explore.observation.unstored_fields import find_unstored_paths
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.proposals.component_view import ComponentView
from mockkube.runtime.virtual_time import EPOCH

GATE = "MaxUnavailableStatefulSet"
PATH = "spec.updateStrategy.rollingUpdate.maxUnavailable"
Document = dict[str, Any]


def stateful_set(rolling: Document, **spec: Any) -> Document:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    whole = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "updateStrategy": strategy, **spec}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "d"}, "spec": whole}


def server(*gates: str) -> ComponentView:
    return ComponentView(Capabilities(Version(1, 36), frozenset(gates)), EPOCH)


@pytest.mark.parametrize(
    ("body", "gates", "lost"),
    [
        pytest.param(stateful_set({"partition": 1, "maxUnavailable": 2}), (GATE,), [PATH], id="dropped"),
        pytest.param(stateful_set({"partition": 1, "maxUnavailable": 2}), (), [], id="dropped in any case"),
        pytest.param(stateful_set({"partition": 1, "typo": 2}), (GATE,), [], id="not a field"),
        pytest.param(stateful_set({"partition": 1, "maxUnavailable": None}), (GATE,), [], id="says nothing"),
        pytest.param(
            {"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}}, (GATE,), [PATH], id="a patch"
        ),
    ],
)
def test_a_field_is_lost_that_the_changed_server_would_store(
    body: Document, gates: tuple[str, ...], lost: list[str]
) -> None:
    patch_type = None if "kind" in body else PatchType.MERGE
    request = OperatorRequest(body, patch_type)
    assert find_unstored_paths(request, stateful_set({"partition": 1}), server(*gates)) == lost


def test_the_pod_spec_is_left_to_the_intent() -> None:
    body = stateful_set({"partition": 1})
    body["spec"]["template"]["spec"]["hostnameOverride"] = "other"
    assert find_unstored_paths(OperatorRequest(body), stateful_set({"partition": 1}), server("HostnameOverride")) == []


def test_a_status_and_a_json_patch_say_nothing() -> None:
    obj = stateful_set({"partition": 1})
    operations = [{"op": "add", "path": "/spec/updateStrategy/rollingUpdate/maxUnavailable", "value": 2}]
    assert find_unstored_paths(OperatorRequest(operations, PatchType.JSON), obj, server(GATE)) == []
    assert (
        find_unstored_paths(OperatorRequest({"status": {"x": 1}}, PatchType.MERGE, "status"), obj, server(GATE)) == []
    )
