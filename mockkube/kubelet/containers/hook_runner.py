"""Lifecycle hooks of the containers of one node: when each began, and when it ends.

upstream 1.36: pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer, executePreStopHook). What a hook does
is computed by `mockkube.shell.containers.hooks`.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from datetime import datetime, timedelta
from math import isinf
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart

POST_START: Final = "postStart"
PRE_STOP: Final = "preStop"


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook."""

    began: datetime
    # Why it fails; empty if it succeeds.
    error: str
    # How long it takes; infinite for one that does not end.
    seconds: float

    @property
    def ends_at(self) -> datetime | None:
        """When the hook ends; None if it does not."""
        return None if isinf(self.seconds) else self.began + timedelta(seconds=self.seconds)


@dataclass(slots=True)
class HookRunner:
    """Runs the hooks of one node's containers; a restart of the kubelet forgets which have run."""

    # By uid of the pod, container and kind, with the number of the container's run.
    _runs: dict[tuple[str, str, str], tuple[int, HookRun]] = field(default_factory=dict)

    def find_post_start(self, pod: ReadOnlyObject, container: str, run: int) -> HookRun | None:
        """Return the postStart hook of a container's run if it has begun."""
        return self._find((pod["metadata"]["uid"], container, POST_START), run)

    def forget(self, uid: str) -> None:
        """Forget the hooks of a pod."""
        for key in [one for one in self._runs if one[0] == uid]:
            del self._runs[key]

    def run_post_start(
        self, pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, now: datetime
    ) -> HookRun:
        """Run the postStart hook of a container that starts now."""
        return self._run(POST_START, pod, container, replace(start, began=now), now)

    def run_pre_stop(
        self, pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, began: datetime
    ) -> HookRun:
        """Run the preStop hook of a running container, once."""
        known = self._find((pod["metadata"]["uid"], container["name"], PRE_STOP), start.run)
        return self._run(PRE_STOP, pod, container, start, began) if known is None else known

    def _find(self, key: tuple[str, str, str], run: int) -> HookRun | None:
        number, known = self._runs.get(key, (run, None))
        return known if number == run else None

    def _run(
        self, kind: str, pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart, began: datetime
    ) -> HookRun:
        # The shell interpreter is 2,000 lines that most clusters never need.
        from mockkube.shell.containers.hooks import run_hook  # loaded for the first container with a hook

        seconds = 0.0 if start.began is None else max(0.0, (began - start.began).total_seconds())
        outcome = run_hook(pod, container, start, container["lifecycle"][kind], seconds)
        hook = HookRun(began, outcome.error, outcome.seconds)
        self._runs[pod["metadata"]["uid"], container["name"], kind] = (start.run, hook)
        return hook


def has_hook(container: ReadOnlyObject, kind: str) -> bool:
    """Return whether a container has a hook of a kind."""
    return bool((container.get("lifecycle") or {}).get(kind))


def find_longest(runs: Iterable[HookRun]) -> float:
    """Return the seconds of the hook that takes longest; 0 without hooks."""
    return max((one.seconds for one in runs), default=0.0)
