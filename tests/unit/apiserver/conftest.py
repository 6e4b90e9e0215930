"""A registry in memory, following its store."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from mockkube_storage.engines.memory import MemoryStore

from mockkube.api.schema import Schema
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.runtime_config import RuntimeConfig
from mockkube.apiserver.registry.service_ip_allocator import ServiceIpAllocator
from mockkube.features.capabilities import Capabilities
from mockkube.runtime.clock import RealClock
from mockkube.runtime.random import Random


@pytest.fixture
def caps() -> Capabilities:
    gates = {"InPlacePodVerticalScaling", "PodLevelResources", "PodTopologyLabelsAdmission", "VolumeAttributesClass"}
    return Capabilities(gates=frozenset(gates))


@pytest.fixture
async def registry(caps: Capabilities) -> AsyncIterator[Registry]:
    """A registry without admission plugins."""
    store = MemoryStore()
    await store.start()
    made = Registry(
        store=store,
        clock=RealClock(),
        random=Random.from_seed(1, "registry"),
        capabilities=caps,
        schema=Schema(caps.version),
        admission=AdmissionChain([]),
        service_ip_allocator=ServiceIpAllocator(random=Random.from_seed(1, "allocators")),
        runtime_config=RuntimeConfig(),
    )
    await made.dependencies.watch_cache.start()
    following = asyncio.create_task(made.dependencies.watch_cache.run())
    yield made
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    await store.close()
