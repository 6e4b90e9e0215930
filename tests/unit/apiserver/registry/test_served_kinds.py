"""Kinds behind a feature gate are served once the gate is on and their API version is enabled."""

import pytest
from mockkube_storage.engines.memory import MemoryStore

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


def list_served(*gates: str) -> set[str]:
    """Return the plurals that a server with these gates serves when every API version is enabled."""
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
    return {kind.plural for kind, _ in registry.served_kinds()}


def test_api_versions_do_not_enable_gated_kinds() -> None:
    served = list_served()
    assert "leasecandidates" in served
    assert not served & GATED.keys()


@pytest.mark.parametrize("gate", sorted(set(GATED.values())))
def test_a_gate_enables_its_kinds(gate: str) -> None:
    assert list_served(gate) & GATED.keys() == {plural for plural, by in GATED.items() if by == gate}
