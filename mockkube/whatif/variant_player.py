"""Play one variant: start the cluster, let it settle, change it, and watch it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import parse_time
from mockkube.cluster.components.component_runner import ComponentFlags
from mockkube.cluster.simulated_cluster import SimulatedCluster, SimulatedClusterConfig
from mockkube.features.components import SCHEDULER
from mockkube.lazy_dataclasses import dataclass
from mockkube.nodegroups.node_group import NodeGroup
from mockkube.runtime.virtual_time import EPOCH
from mockkube.whatif.base import WhatIfBase
from mockkube.whatif.change_player import ChangePlayer
from mockkube.whatif.changes import Change
from mockkube.whatif.errors import WhatIfError
from mockkube.whatif.node_losses import NodeLosses
from mockkube.whatif.observer import Observer
from mockkube.whatif.results import VariantResult

SAMPLE_SECONDS: Final = 10.0
# The trace is not read, so only its last steps are kept.
_TRACE_STEPS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class WhatIfVariant:
    """Changes that are made together, and the scheduler's configuration."""

    name: str
    changes: tuple[Change, ...] = ()
    scheduler_config: ReadOnlyObject | None = None
    scheduler_config_name: str = ""


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """Durations of a run, and the seed of everything random."""

    settle_seconds: float = 300.0
    seconds: float = 1800.0
    seed: int = 0


async def play_variant(base: WhatIfBase, variant: WhatIfVariant, options: PlayOptions) -> VariantResult:
    """Play a variant; raise WhatIfError if a change has nothing to change."""
    async with _build_cluster(base, variant, options) as cluster:
        groups = await _create_groups(cluster, base.node_groups)
        await cluster.advance(options.settle_seconds)
        observer = Observer(cluster, groups, base.prices)
        try:
            return await _watch(cluster, observer, variant, options)
        finally:
            await observer.close()


def _build_cluster(base: WhatIfBase, variant: WhatIfVariant, options: PlayOptions) -> SimulatedCluster:
    flags: dict[str, ComponentFlags] = {}
    if variant.scheduler_config is not None:
        flags[SCHEDULER] = {"config": variant.scheduler_config}
    contents = base.contents
    start = parse_time(contents.time) if contents.time else EPOCH
    return SimulatedCluster(
        SimulatedClusterConfig(
            contents=contents, start=start, flags=flags, seed=options.seed, trace_steps_max=_TRACE_STEPS_MAX
        )
    )


async def _create_groups(cluster: SimulatedCluster, objects: Sequence[Any]) -> list[NodeGroup]:
    client = cluster.client()
    groups = []
    for obj in objects:
        metadata = {"name": obj["metadata"]["name"]}
        try:
            created = await client.create("NodeGroup", {"metadata": metadata, "spec": obj.get("spec") or {}})
        except ApiError as error:
            raise WhatIfError(f"NodeGroup {metadata['name']}: {error.message}") from None
        groups.append(NodeGroup.from_object(created))
    await cluster.settle()
    return groups


async def _watch(
    cluster: SimulatedCluster, observer: Observer, variant: WhatIfVariant, options: PlayOptions
) -> VariantResult:
    await observer.begin()
    consolidated_before = await _count_consolidated(cluster)
    before = observer.list_placement()
    losses = NodeLosses(cluster)
    player = ChangePlayer(cluster, losses)
    notes = [await player.apply(change) for change in variant.changes]
    observer.note_rescheduled(player.rescheduled)
    if variant.scheduler_config_name:
        notes.append(f"the scheduler is configured by {variant.scheduler_config_name}")
    left = options.seconds
    while left > 0:
        await losses.continue_()
        await cluster.advance(min(SAMPLE_SECONDS, left))
        left -= SAMPLE_SECONDS
        await observer.sample()
    consolidated = await _count_consolidated(cluster)
    consolidated.subtract(consolidated_before)
    removals = [
        f"consolidation removed {count} node{'s' * (count > 1)} of group {name}"
        for name, count in consolidated.items()
        if count > 0
    ]
    return VariantResult(
        variant.name,
        tuple(notes),
        tuple(observer.samples),
        before,
        observer.list_placement(),
        observer.list_workloads(),
        observer.list_pending(),
        observer.find_recovery(),
        observer.count_disruptions(),
        observer.cost,
        (*losses.list_notes(), *removals),
    )


async def _count_consolidated(cluster: SimulatedCluster) -> Counter[str]:
    """Return how many nodes of each group consolidation has removed."""
    groups = (await cluster.client().list("NodeGroup")).items
    return Counter({one["metadata"]["name"]: (one.get("status") or {}).get("consolidated", 0) for one in groups})
