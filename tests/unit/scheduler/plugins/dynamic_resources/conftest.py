"""Devices, classes and claims for a cluster in memory."""

from collections.abc import Callable
from typing import Any

import pytest

GPU = "gpu.example.com"


def make_slice(node: str = "n1", *devices: Any, name: str = "", pool: Any = None, **spec: Any) -> Any:
    """Return a slice of a node's pool, with devices by name or in full."""
    full = [{"name": one} if isinstance(one, str) else one for one in devices]
    own = {"driver": GPU, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1, **(pool or {})}}
    place = (
        {}
        if {"allNodes", "nodeSelector", "perDeviceNodeSelection", "sharedCounters"} & spec.keys()
        else {"nodeName": node}
    )
    metadata = {"name": name or f"slice-{node}", "uid": name or node, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {**own, **place, "devices": full, **spec}}


def make_request(name: str = "r", **fields: Any) -> Any:
    """Return a request for one device of the class `gpu`, unless told otherwise."""
    own = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {"name": name, "exactly": {**own, **fields}}


def make_claim(name: str, *requests: Any, **fields: Any) -> Any:
    """Return a claim for these requests; one device if none is given."""
    status = fields.pop("status", {})
    devices = {"requests": list(requests or (make_request(),)), **fields}
    metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"devices": devices}, "status": status}


def selected_by(expression: str) -> Any:
    """Return selectors that hold one expression."""
    return [{"cel": {"expression": expression}}]


@pytest.fixture
def slice_of() -> Callable[..., Any]:
    """Return what makes slices."""
    return make_slice


@pytest.fixture
def request_for() -> Callable[..., Any]:
    """Return what makes requests."""
    return make_request


@pytest.fixture
def claim_for() -> Callable[..., Any]:
    """Return what makes claims."""
    return make_claim


@pytest.fixture
def selectors() -> Callable[[str], Any]:
    """Return what makes selectors."""
    return selected_by


@pytest.fixture
def pool(world: Any) -> Any:
    """A cluster of two nodes and a device class `gpu`, ready for slices and claims."""
    return prepared(world)


def prepared(world: Any) -> Any:
    """Give a cluster two nodes and a device class."""
    world.node("n1")
    world.node("n2")
    world.other("DeviceClass", {"metadata": {"name": "gpu", "uid": "gpu"}, "spec": {}})

    def uses(*claims: str, **spec: Any) -> Any:
        named = [{"name": name, "resourceClaimName": name} for name in claims]
        return world.pod(resourceClaims=named, **spec)

    world.uses = uses
    return world


@pytest.fixture
def pools(worlds: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes such clusters of a version and with gates."""
    return lambda *args, **fields: prepared(worlds(*args, **fields))
