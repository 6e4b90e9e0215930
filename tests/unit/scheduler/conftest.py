"""A scheduler without a server: decisions about nodes and pods that were put before it."""

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.scheduler import Scheduler, build


def make(configuration: Any = None, **gates: bool) -> Scheduler:
    caps = Capabilities(DEFAULT, enabled_gates(DEFAULT, gates, component="kube-scheduler"))
    chance, registry = Random.from_seed(1, "test"), CollectorRegistry()
    client: Any = None
    context = ComponentDependencies("kube-scheduler", client, caps, VirtualClock(), chance, registry, lambda name: True)
    return build(context, configuration)


def node(name: str, cpu: str = "4", *, labels: Any = None, **spec: Any) -> Any:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": {"allocatable": amounts}}


def pod(name: str, cpu: str = "1", *, labels: Any = None, **spec: Any) -> PodInfo:
    metadata = {"name": name, "namespace": "a", "uid": name, "labels": labels or {}}
    containers = [{"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}]
    return PodInfo({"metadata": metadata, "spec": {"containers": containers, **spec}, "status": {}})


@pytest.fixture
def schedulers() -> Callable[..., Scheduler]:
    """Return what makes schedulers: with a configuration and gates."""
    return make


@pytest.fixture
def nodes() -> Callable[..., Any]:
    """Return what makes nodes."""
    return node


@pytest.fixture
def pods() -> Callable[..., PodInfo]:
    """Return what makes pods."""
    return pod
