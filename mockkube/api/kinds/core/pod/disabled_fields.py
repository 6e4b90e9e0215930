"""Drop pod fields of disabled gates, unless the stored pod uses them."""

# upstream 1.37: pkg/api/pod/util.go, dropDisabledFields

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from mockkube.api.bounded_cache import DigestCache, digest_json
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import pod_affinity_terms
from mockkube.api.kinds.core.pod.containers.container_lists import all_containers
from mockkube.api.kinds.core.pod.containers.containers import is_sidecar
from mockkube.api.kinds.core.pod.options import is_feature_enabled, uses_restart_rules
from mockkube.features.capabilities import Capabilities

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = ("preStop", "postStart")
_FILE_VOLUMES: Final = ("secret", "configMap", "downwardAPI", "projected")
# Yields the parts of a pod spec that may have a gated field.
SpecItems = Callable[[ReadOnlyObject], Iterator[Any]]


def _spec(spec: ReadOnlyObject) -> Iterator[Any]:
    yield spec


def _security_context(spec: ReadOnlyObject) -> Iterator[Any]:
    if "securityContext" in spec:
        yield spec["securityContext"]


def _constraints(spec: ReadOnlyObject) -> Iterator[Any]:
    yield from spec.get("topologySpreadConstraints", ())


def _mounts(spec: ReadOnlyObject) -> Iterator[Any]:
    for container in all_containers(spec):
        yield from container.get("volumeMounts", ())


def _value_sources(spec: ReadOnlyObject) -> Iterator[Any]:
    for container in all_containers(spec):
        for variable in container.get("env", ()):
            if "valueFrom" in variable:
                yield variable["valueFrom"]


def _projections(spec: ReadOnlyObject) -> Iterator[Any]:
    for volume in spec.get("volumes", ()):
        yield from volume.get("projected", {}).get("sources") or ()


def _lifecycles(spec: ReadOnlyObject) -> Iterator[dict[str, Any]]:
    for container in all_containers(spec):
        if "lifecycle" in container:
            yield container["lifecycle"]


def _empty_dirs(spec: ReadOnlyObject) -> Iterator[Any]:
    for volume in spec.get("volumes", ()):
        if "emptyDir" in volume:
            yield volume["emptyDir"]


def _probe_actions(spec: ReadOnlyObject, action: str) -> Iterator[Any]:
    for container in all_containers(spec):
        for probe in _PROBES:
            if action in container.get(probe, ()):
                yield container[probe][action]


def _http_gets(spec: ReadOnlyObject) -> Iterator[Any]:
    yield from _probe_actions(spec, "httpGet")
    for lifecycle in _lifecycles(spec):
        for moment in _HANDLERS:
            if "httpGet" in lifecycle.get(moment, ()):
                yield lifecycle[moment]["httpGet"]


def _grpc_probes(spec: ReadOnlyObject) -> Iterator[Any]:
    yield from _probe_actions(spec, "grpc")


def _files(spec: ReadOnlyObject) -> Iterator[Any]:
    """Yield volumes of files, their sources, and their items."""
    for volume in spec.get("volumes", ()):
        for body in (volume[name] for name in _FILE_VOLUMES if name in volume):
            sources = [part for source in body.get("sources") or () for part in source.values()]
            for holder in (body, *sources):
                yield holder
                yield from holder.get("items") or ()


# Gate, where to look, and the gated fields. Any of these fields in the stored pod keeps all of them: a running pod must
# stay writable after its gate has been turned off.
_GATED_FIELDS: Final[tuple[tuple[str, SpecItems, tuple[str, ...]], ...]] = (
    ("UserNamespacesSupport", _spec, ("hostUsers",)),
    ("SupplementalGroupsPolicy", _security_context, ("supplementalGroupsPolicy",)),
    ("PodLevelResources", _spec, ("resources",)),
    ("NodeInclusionPolicyInPodTopologySpread", _constraints, ("nodeTaintsPolicy",)),
    ("NodeInclusionPolicyInPodTopologySpread", _constraints, ("nodeAffinityPolicy",)),
    ("MatchLabelKeysInPodTopologySpread", _constraints, ("matchLabelKeys",)),
    ("MatchLabelKeysInPodAffinity", pod_affinity_terms, ("matchLabelKeys", "mismatchLabelKeys")),
    ("ClusterTrustBundleProjection", _projections, ("clusterTrustBundle",)),
    ("PodCertificateRequest", _projections, ("podCertificate",)),
    ("GenericWorkload", _spec, ("schedulingGroup",)),
    ("InPlacePodVerticalScaling", all_containers, ("resizePolicy",)),
    ("RecursiveReadOnlyMounts", _mounts, ("recursiveReadOnly",)),
    ("HostnameOverride", _spec, ("hostnameOverride",)),
    ("EnvFiles", _value_sources, ("fileKeyRef",)),
    ("SELinuxChangePolicy", _security_context, ("seLinuxChangePolicy",)),
    ("AtomicWriteVolumeUserFields", _files, ("defaultUser", "user")),
    ("EmptyDirVolumeMode", _empty_dirs, ("mode",)),
    ("VolumeBindMountOptions", _mounts, ("bindMountOptions",)),
    ("H2CContainerProbe", _http_gets, ("protocol",)),
    ("GRPCContainerProbeTLS", _grpc_probes, ("mode",)),
    ("EvictionRequestAPI", _spec, ("evictionResponders",)),
)


@lru_cache(maxsize=64)
def _disabled_fields(caps: Capabilities) -> tuple[tuple[SpecItems, tuple[str, ...]], ...]:
    return tuple((items, fields) for gate, items, fields in _GATED_FIELDS if not is_feature_enabled(caps, gate))


# Specs that keep all fields: new ones, and those that an update leaves as they are.
_KEPT_NEW: Final[DigestCache[bool]] = DigestCache()
_KEPT_UNCHANGED: Final[DigestCache[bool]] = DigestCache()


def drop_disabled_pod_fields(new: Object, old: ReadOnlyObject | None, caps: Capabilities) -> None:
    """Drop the fields of disabled gates from a pod spec, unless the old spec uses them."""
    if old is not None and new != old:
        _drop_disabled_fields(new, old, caps)
        return
    kept, digest = _KEPT_NEW if old is None else _KEPT_UNCHANGED, digest_json(new)
    if kept.get(digest, caps):
        return
    _drop_disabled_fields(new, old or {}, caps)
    if digest_json(new) == digest:
        kept.put(digest, caps, True)


def _drop_disabled_fields(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    # An unchanged spec, the most frequent update, has nothing to drop here.
    for items, fields in _disabled_fields(caps) if new != old else ():
        if any(field in item for item in items(old) for field in fields):
            continue
        for item in items(new):
            for field in fields:
                item.pop(field, None)
    _drop_proc_mounts(new, old, caps)
    _drop_claims(new, old, caps)
    _drop_restart_policies(new, old, caps)
    _drop_handlers(new, old, caps)
    _drop_image_volumes(new, old, caps)


def _drop_proc_mounts(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    contexts = [container.get("securityContext", {}) for container in all_containers(old)]
    if is_feature_enabled(caps, "ProcMountType") or any(
        context.get("procMount", "Default") != "Default" for context in contexts
    ):
        return
    for container in all_containers(new):
        # Unlike other gated fields this one is reset to its default, because defaulting has run already.
        if "procMount" in container.get("securityContext", {}):
            container["securityContext"]["procMount"] = "Default"


def _drop_claims(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    if is_feature_enabled(caps, "DynamicResourceAllocation") or "resourceClaims" in old:
        return
    new.pop("resourceClaims", None)
    for container in all_containers(new):
        container.get("resources", {}).pop("claims", None)


def _drop_restart_policies(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    if not is_feature_enabled(caps, "SidecarContainers") and not any(
        is_sidecar(c) for c in old.get("initContainers", ())
    ):
        for container in new.get("initContainers", ()):
            container.pop("restartPolicy", None)
    if is_feature_enabled(caps, "ContainerRestartRules") or uses_restart_rules(old):
        return
    sidecars = [container for container in new.get("initContainers", ()) if is_sidecar(container)]
    for container in all_containers(new):
        container.pop("restartPolicyRules", None)
        # By identity: two containers may be equal. Sidecars need `restartPolicy: Always` whatever this gate says.
        if not any(container is sidecar for sidecar in sidecars):
            container.pop("restartPolicy", None)


def _drop_handlers(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    sleeps = any("sleep" in part.get(kind, ()) for part in _lifecycles(old) for kind in _HANDLERS)
    signals = any("stopSignal" in part for part in _lifecycles(old))
    for container in all_containers(new):
        lifecycle = container.get("lifecycle")
        if not lifecycle:
            continue
        if not sleeps and not is_feature_enabled(caps, "PodLifecycleSleepAction"):
            for kind in _HANDLERS:
                if lifecycle.get(kind, {}).pop("sleep", None) is not None and not lifecycle[kind]:
                    del lifecycle[kind]
        if not signals and not is_feature_enabled(caps, "ContainerStopSignals"):
            lifecycle.pop("stopSignal", None)
        if not lifecycle:
            # A lifecycle without handlers fails validation, so it is removed with its last handler.
            del container["lifecycle"]


def _drop_image_volumes(new: Object, old: ReadOnlyObject, caps: Capabilities) -> None:
    if is_feature_enabled(caps, "ImageVolume") or any("image" in volume for volume in old.get("volumes", ())):
        return
    dropped = [volume.get("name") for volume in new.get("volumes", ()) if "image" in volume]
    if not dropped:
        return
    _set_or_remove(new, "volumes", [volume for volume in new["volumes"] if "image" not in volume])
    # Mounts of a dropped volume would fail validation.
    for container in all_containers(new):
        mounts = [mount for mount in container.get("volumeMounts", ()) if mount.get("name") not in dropped]
        _set_or_remove(container, "volumeMounts", mounts)


def _set_or_remove(holder: dict[str, Any], field: str, items: list[Any]) -> None:
    """Set a list field, or remove the field if the list is empty."""
    if items:
        holder[field] = items
    else:
        holder.pop(field, None)
