"""Node declared features: the version that adds each, and which pods need it.

upstream 1.36: staging/src/k8s.io/component-helpers/nodedeclaredfeatures/features
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeFeature:
    """A feature that kubelets declare in the node's status, named like its gate."""

    name: str
    since: Version
    # Returns whether a pod with this spec needs the feature; None if no pod does.
    needed_by: Callable[[ReadOnlyObject], bool] | None = None


def known_features(version: Version) -> tuple[NodeFeature, ...]:
    """Return the features that a component of some version knows, by name."""
    return tuple(feature for feature in _FEATURES if version >= feature.since)


def needed_features(spec: ReadOnlyObject, known: Iterable[NodeFeature]) -> tuple[str, ...]:
    """Return the names of the features that a pod spec needs."""
    return tuple(feature.name for feature in known if feature.needed_by is not None and feature.needed_by(spec))


def _restarts_all_containers(spec: ReadOnlyObject) -> bool:
    rules = (rule for one in _containers(spec) for rule in one.get("restartPolicyRules") or ())
    return any(rule.get("action") == "RestartAllContainers" for rule in rules)


def _uses_host_network_without_host_users(spec: ReadOnlyObject) -> bool:
    return bool(spec.get("hostNetwork")) and spec.get("hostUsers") is False


def _has_bind_mount_options(spec: ReadOnlyObject) -> bool:
    # Ephemeral containers have volume mounts, but no restart rules.
    containers = (*_containers(spec), *(spec.get("ephemeralContainers") or ()))
    return any(mount.get("bindMountOptions") for one in containers for mount in one.get("volumeMounts") or ())


def _containers(spec: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


_FEATURES: Final = (
    NodeFeature("DRANodeAllocatableResources", Version(1, 37)),
    NodeFeature("DRAOptionalNodeOperations", Version(1, 37)),
    NodeFeature("ExtendWebSocketsToKubelet", Version(1, 36)),
    NodeFeature("InPlacePodLevelResourcesVerticalScaling", Version(1, 35)),
    NodeFeature("InPlacePodVerticalScalingInitContainers", Version(1, 36)),
    NodeFeature("InPlacePodVerticalScalingMemoryBackedVolumes", Version(1, 37)),
    NodeFeature("RestartAllContainersOnContainerExits", Version(1, 35), _restarts_all_containers),
    NodeFeature("UserNamespacesHostNetworkSupport", Version(1, 36), _uses_host_network_without_host_users),
    NodeFeature("VolumeBindMountOptions", Version(1, 37), _has_bind_mount_options),
)
