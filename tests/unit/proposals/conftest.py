"""Objects and components for questions of what breaks."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.proposals.catalogue import TRAINS
from mockkube.proposals.component_view import ComponentView

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def view() -> Callable[..., ComponentView]:
    """Make a component's view of objects: `view("1.36", Gate=True)`."""

    def make(version: str = "1.36", **gates: bool) -> ComponentView:
        release = Version.parse(version)
        return ComponentView(Capabilities(release, enabled_gates(release, gates, TRAINS)), NOW)

    return make


@pytest.fixture
def pod() -> Callable[..., dict[str, Any]]:
    """Make a pod with these fields of its spec."""

    def make(name: str = "p", **spec: Any) -> dict[str, Any]:
        containers = [{"name": "c", "image": "i"}]
        metadata = {"name": name, "namespace": "default"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}

    return make


@pytest.fixture
def workload() -> Callable[..., dict[str, Any]]:
    """Make a workload of a kind whose template has these fields."""

    def make(kind: str, **spec: Any) -> dict[str, Any]:
        labels = {"app": "w"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
        metadata = {"name": "w", "namespace": "default"}
        selector = {"matchLabels": labels}
        match kind:
            case "PodTemplate":
                return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "template": template}
            case "ReplicationController":
                made = {"selector": labels, "template": template}
                return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": made}
            case "Job" | "CronJob":
                template["spec"]["restartPolicy"] = "Never"
                job = {"template": template}
                made = job if kind == "Job" else {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
                return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": made}
        made = {"selector": selector, "template": template}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": made}

    return make
