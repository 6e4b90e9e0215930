"""Which containers are started again when they end, and after how long.

upstream 1.36: pkg/api/v1/pod/util.go (ContainerShouldRestart), pkg/kubelet/container/helpers.go
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mockkube.api.types import ReadOnlyObject
from mockkube.features.capabilities import Capabilities

LOST_EXIT_CODE: Final = 137
RESTARTING_ALL: Final = "RestartingAllContainers"
"""Why a container waits, and what its end is called, while the whole pod is started again in place."""
_ALL: Final = "RestartAllContainers"


@dataclass(frozen=True, slots=True)
class RestartRules:
    """How a kubelet of some version and gates restarts containers."""

    of_containers: bool = True
    """Whether containers have policies and rules of their own, beside sidecars."""
    all_at_once: bool = True
    """Whether the end of one container may start all of them again."""
    backoff_seconds: int = 10
    backoff_seconds_max: int = 300

    @classmethod
    def of(cls, caps: Capabilities) -> "RestartRules":
        """Return the rules of a kubelet."""
        quick = caps.enabled("ReduceDefaultCrashLoopBackOffDecay")
        return cls(
            of_containers=caps.enabled("ContainerRestartRules"),
            all_at_once=caps.enabled("RestartAllContainersOnContainerExits"),
            backoff_seconds=1 if quick else 10,
            backoff_seconds_max=60 if quick else 300,
        )

    def may_restart(self, container: ReadOnlyObject, pod: ReadOnlyObject, exit_code: int) -> bool:
        """Whether a container that ended is started again."""
        own = container.get("restartPolicy")
        if own and (self.of_containers or own == "Always"):
            action = _action(container, exit_code)
            if action == "Restart" or (action == _ALL and self.all_at_once):
                return True
            policy = own
        else:
            policy = pod["spec"].get("restartPolicy", "Always")
        return bool(policy == "Always" or (policy == "OnFailure" and exit_code != 0))

    def restarts_all(self, container: ReadOnlyObject, exit_code: int) -> bool:
        """Whether this end of a container starts all containers of its pod again."""
        return self.all_at_once and _action(container, exit_code) == _ALL

    def could_restart_all(self, pod: ReadOnlyObject) -> bool:
        """Whether any end of any container of the pod would do so."""
        return self.all_at_once and any(rule.get("action") == _ALL for rule in _rules(pod["spec"]))

    def wait_seconds(self, restarts: int) -> int:
        """Return how long a container that has been restarted so often waits before the next time."""
        if restarts == 0:
            return 0
        exponent = min(restarts - 1, self.backoff_seconds_max.bit_length())
        return min(self.backoff_seconds << exponent, self.backoff_seconds_max)


def _rules(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    for listed in ("initContainers", "containers"):
        for container in spec.get(listed) or ():
            yield from container.get("restartPolicyRules") or ()


def _action(container: ReadOnlyObject, exit_code: int) -> str:
    """Return what the first rule that fits says."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or ())
        if listed == (codes.get("operator") == "In"):
            return str(rule.get("action", ""))
    return ""
