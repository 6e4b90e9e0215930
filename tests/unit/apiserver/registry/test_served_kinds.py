"""Kinds behind a feature gate are served once the gate is on and their API version is enabled."""

import pytest
from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.catalogue import KindInfo
from mockkube.api.schema import Schema
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random

GATED = {
    "clustertrustbundles": "ClusterTrustBundle",
    "podcertificaterequests": "PodCertificateRequest",
    "podgroups": "GenericWorkload",
    "storageversionmigrations": "StorageVersionMigrator",
    "workloads": "GenericWorkload",
}


def find_served(*gates: str) -> dict[str, KindInfo]:
    """Return the kinds by plural that a server with these gates serves when every API version is enabled."""
    version, random = Version(1, 36), Random.from_seed(1, "registry")
    registry = Registry(
        store=MemoryStore(),
        clock=RealClock(),
        random=random,
        capabilities=Capabilities(version, frozenset(gates)),
        schema=Schema(version),
        admission=AdmissionChain([]),
        service_ip_allocator=ServiceIpAllocator(random=random),
        runtime_config=RuntimeConfig({"api/all": True}),
    )
    return {kind.plural: kind for kind, _ in registry.served_kinds()}


def test_api_versions_do_not_enable_gated_kinds() -> None:
    served = find_served()
    assert "leasecandidates" in served
    assert not served.keys() & GATED.keys()


@pytest.mark.parametrize("gate", sorted(set(GATED.values())))
def test_a_gate_enables_its_kinds(gate: str) -> None:
    assert find_served(gate).keys() & GATED.keys() == {plural for plural, by in GATED.items() if by == gate}


def test_a_gate_enables_its_subresource() -> None:
    assert find_served("InPlacePodVerticalScaling")["pods"].subresource("resize") is not None
    without = find_served()["pods"]
    assert without.subresource("resize") is None
    assert without.subresource("status") is not None
