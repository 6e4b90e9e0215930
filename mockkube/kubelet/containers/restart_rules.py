"""Restart policy of containers: which ones restart after an exit, with which backoff.

upstream 1.36: pkg/api/v1/pod/util.go (ContainerShouldRestart), pkg/kubelet/container/helpers.go
"""

from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

LOST_EXIT_CODE: Final = 137
# Waiting and termination reason while all containers of a pod restart in place.
RESTARTING_ALL: Final = "RestartingAllContainers"
_RESTART_ALL_ACTION: Final = "RestartAllContainers"


@dataclass(frozen=True, slots=True)
class RestartRules:
    """Restart behavior of a kubelet at one version and set of feature gates."""

    # Whether restart policies and rules of containers count, beyond those of sidecars.
    container_rules_enabled: bool = True
    # Whether the exit of one container may restart all containers of the pod.
    restart_all_enabled: bool = True
    backoff_seconds: int = 10
    backoff_seconds_max: int = 300

    @classmethod
    def from_capabilities(cls, caps: Capabilities) -> "RestartRules":
        """Return the rules of a kubelet with these capabilities."""
        quick = caps.enabled("ReduceDefaultCrashLoopBackOffDecay")
        return cls(
            container_rules_enabled=caps.enabled("ContainerRestartRules"),
            restart_all_enabled=caps.enabled("RestartAllContainersOnContainerExits"),
            backoff_seconds=1 if quick else 10,
            backoff_seconds_max=60 if quick else 300,
        )

    def may_restart(self, container: ReadOnlyObject, pod: ReadOnlyObject, exit_code: int) -> bool:
        """Return whether a container restarts after exiting with this code."""
        own = container.get("restartPolicy")
        # Always on an init container is a sidecar, which predates the gate of restart rules.
        if own and (self.container_rules_enabled or own == "Always"):
            action = _find_action(container, exit_code)
            if action == "Restart" or (action == _RESTART_ALL_ACTION and self.restart_all_enabled):
                return True
            policy = own
        else:
            policy = pod["spec"].get("restartPolicy", "Always")
        return bool(policy == "Always" or (policy == "OnFailure" and exit_code != 0))

    def restarts_all(self, container: ReadOnlyObject, exit_code: int) -> bool:
        """Return whether this exit of a container restarts all containers of its pod."""
        return self.restart_all_enabled and _find_action(container, exit_code) == _RESTART_ALL_ACTION

    def could_restart_all(self, pod: ReadOnlyObject) -> bool:
        """Return whether some rule of the pod restarts all containers."""
        return self.restart_all_enabled and any(
            rule.get("action") == _RESTART_ALL_ACTION for rule in _iterate_rules(pod["spec"])
        )

    def get_backoff_seconds(self, restarts: int) -> int:
        """Return the backoff before a container's next start, after this many restarts."""
        if restarts == 0:
            return 0
        # The exponent is bounded because a restart count from a stored status may be huge.
        exponent = min(restarts - 1, self.backoff_seconds_max.bit_length())
        return min(self.backoff_seconds << exponent, self.backoff_seconds_max)


def _iterate_rules(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    for listed in ("initContainers", "containers"):
        for container in spec.get(listed) or ():
            yield from container.get("restartPolicyRules") or ()


def _find_action(container: ReadOnlyObject, exit_code: int) -> str:
    """Return the action of the first restart rule that matches the exit code."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or ())
        # NotIn, the only other operator, matches when the code is not listed.
        if listed == (codes.get("operator") == "In"):
            return str(rule.get("action", ""))
    return ""
