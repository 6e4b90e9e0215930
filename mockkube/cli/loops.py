"""Hot loops of a running cluster, read from the metrics of its components, for `mockkube status --loops`."""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Final

from mockkube.cli.live_cluster import LiveCluster
from mockkube.client import kubeconfig
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.state.state_directory import RunningRecord
from mockkube.lazy_dataclasses import dataclass

_SUFFIX: Final = "_loop_rate"
_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class HotLoopReport:
    """One hot loop: component, controller, object, cause, and attempts a minute."""

    component: str
    controller: str
    object: str
    cause: str
    per_minute: int


def read_hot_loops(record: RunningRecord) -> list[HotLoopReport]:
    """Return the hot loops of a running cluster, the most frequent first; raise StartError if it does not answer."""
    try:
        cluster = LiveCluster(kubeconfig.load(Path(record.kubeconfig)))
        found = [
            loop
            for component in record.components
            if component.running and not component.name.startswith("kube-apiserver")
            for loop in parse_hot_loops(component.name, _read_metrics(cluster, component.name))
        ]
    except kubeconfig.KubeconfigError as error:
        raise StartError(str(error)) from None
    return sorted(found, key=lambda loop: (-loop.per_minute, loop.component, loop.controller, loop.object))


def parse_hot_loops(component: str, text: str) -> Iterator[HotLoopReport]:
    """Yield the hot loops in a page of metrics."""
    from prometheus_client.parser import text_string_to_metric_families

    for family in text_string_to_metric_families(text):
        if family.name.startswith("mockkube_") and family.name.endswith(_SUFFIX):
            for sample in family.samples:
                labels = sample.labels
                yield HotLoopReport(
                    component, labels["controller"], labels["object"], labels["cause"], int(sample.value)
                )


def _read_metrics(cluster: LiveCluster, component: str) -> str:
    response = cluster.read_control_api(f"/components/{component}/metrics", seconds=_SECONDS)
    if response.status != HTTPStatus.OK:
        raise StartError(f"the cluster answers {response.status} to a request for the metrics of {component}")
    return response.body.decode()
