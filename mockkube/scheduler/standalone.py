"""Run a scheduler alone against the API server of a kubeconfig, of this project or any other."""

import asyncio

from prometheus_client import CollectorRegistry

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.http import HttpClient
from mockkube.client.identity import user_agent
from mockkube.client.kubeconfig import RestConfig
from mockkube.client.protocol import Client
from mockkube.client.versioned_decoder import VersionedDecoder
from mockkube.features.capabilities import Capabilities
from mockkube.proposals.component_extensions import make_schema
from mockkube.proposals.loading import trains_for
from mockkube.runtime.clock import RealClock
from mockkube.runtime.component import ComponentDependencies
from mockkube.runtime.random import Random
from mockkube.runtime.steps import run_worker
from mockkube.scheduler.scheduler import Scheduler, build

NAME = "kube-scheduler"


async def serve(
    config: RestConfig, caps: Capabilities, configuration: ReadOnlyObject | None, *, stop: asyncio.Event
) -> None:
    """Schedule until `stop` is set. Raises SchedulerConfigurationError for an invalid configuration.

    differs: there is no leader election; two schedulers of one name would schedule the same pods.
    """
    clock = RealClock()
    agent, decoder = user_agent(NAME, caps.version), VersionedDecoder(make_schema(caps.version, trains_for(caps)))
    async with HttpClient(config, agent, decoder=decoder, clock=clock) as client:
        typed_client: Client = client
        # Node ownership matters to kubelets only; a scheduler is responsible for all nodes.
        dependencies = ComponentDependencies(
            NAME, typed_client, caps, clock, Random(), CollectorRegistry(), lambda node: True
        )
        scheduler = build(dependencies, configuration)
        await scheduler.start()
        try:
            await _run_workers(scheduler, clock, stop)
        finally:
            await scheduler.stop()


async def _run_workers(scheduler: Scheduler, clock: RealClock, stop: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run_worker(worker, clock)) for worker in scheduler.workers]
        await stop.wait()
        for task in tasks:
            task.cancel()
