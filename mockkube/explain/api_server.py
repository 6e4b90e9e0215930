"""Explain what an API server does to a pod: fields it drops when storing, and updates it rejects."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from mockkube.api.decoding.codec import DecodingError
from mockkube.api.errors import ApiError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.controllers.daemonset.placement import daemon_tolerations, pin_to_node, target_node
from mockkube.explain.components import ClusterComponents
from mockkube.explain.owners import find_owner
from mockkube.explain.recorded_cluster import decode_copy, decoder_for
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.component_view import ComponentView, find_lost_paths
from mockkube.proposals.scheduling_fields import pod_spec

APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# Owners to follow for the requested spec: pod, replica set, deployment.
_OWNERS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class RequestedSpec:
    """The pod spec that a user requested."""

    spec: ReadOnlyObject
    requested_by: str
    # Whether a controller created the pod from it; the controller manager may drop fields, too.
    by_controller: bool


async def find_requested_spec(client: Client, pod: ReadOnlyObject) -> RequestedSpec | None:
    """Return the requested spec: what was applied to the pod or its owners, else its owner's template."""
    found: RequestedSpec | None = None
    obj = pod
    # The highest owner with a spec wins: it is what the user wrote, and each controller below may have dropped fields.
    for height in range(_OWNERS_MAX):
        applied = _last_applied(obj)
        part = pod_spec({**applied, "kind": obj["kind"]}) if applied else None
        # The pod's own spec is what was stored, so only an owner's template can say what was requested.
        if part is None and height:
            part = pod_spec(obj)
        if part is not None and part.value:
            spec = _daemon_pod_spec(part.value, pod) if obj["kind"] == "DaemonSet" else part.value
            found = RequestedSpec(spec, f"{obj['kind']} {obj['metadata']['name']}", bool(height))
        owner = await find_owner(client, obj)
        if owner is None:
            break
        obj = owner
    return found


def _daemon_pod_spec(spec: ReadOnlyObject, pod: ReadOnlyObject) -> Object:
    """Return the spec that the daemon set controller creates for the node of a pod."""
    affinity = pin_to_node(spec.get("affinity"), target_node(pod))
    return {**spec, "tolerations": daemon_tolerations(spec), "affinity": affinity}


def _last_applied(obj: ReadOnlyObject) -> Mapping[str, Any] | None:
    """Return the last applied configuration of an object; None without one."""
    text = (obj["metadata"].get("annotations") or {}).get(APPLIED, "")
    try:
        applied = json.loads(text) if text else None
    except ValueError:
        return None
    return applied if isinstance(applied, dict) else None


class StorageChange(NamedTuple):
    """A change after which more of the requested pod would be stored."""

    kind: str
    component: str
    change: str
    # The pod as it would be stored then.
    pod: Object


@dataclass(frozen=True, slots=True)
class DroppedFields:
    """Requested fields of a pod that are not stored, and what would be stored after a change."""

    request: RequestedSpec
    pod: ReadOnlyObject
    components: ClusterComponents
    now: datetime

    def list_missing(self) -> list[str]:
        """Return the paths that were requested and are not stored."""
        return list(find_lost_paths(_without_empty(self.request.spec), self.pod["spec"], "spec"))

    def list_kept_now(self) -> list[str]:
        """Return the missing paths that a new pod would keep now."""
        return self._find_kept(self._stored_spec(self.components.manager.caps, self.components.server.caps))

    def list_changes(self) -> Iterator[StorageChange]:
        """Yield the changes that keep more paths than now, with the resulting pod."""
        before = set(self.list_kept_now())
        server, manager = self.components.server, self.components.manager
        # The present server would store more than when the pod was created: a gate was enabled since, so recreating is
        # enough.
        if before:
            yield StorageChange(
                "again",
                "",
                "the pod is created again",
                self._merge_into_pod(self._stored_spec(manager.caps, server.caps)),
            )

        def keeps_more(made: ReadOnlyObject) -> bool:
            return not before.issuperset(self._find_kept(made))

        for one in server.features.find_helpful(lambda caps: keeps_more(self._stored_spec(manager.caps, caps))):
            yield StorageChange(
                one.kind, server.name, one.change, self._merge_into_pod(self._stored_spec(manager.caps, one.caps))
            )
        for one in manager.features.list_variants(()) if self.request.by_controller else ():
            if keeps_more(made := self._stored_spec(one.caps, server.caps)):
                yield StorageChange(one.kind, manager.name, one.change, self._merge_into_pod(made))

    def _find_kept(self, made: ReadOnlyObject) -> list[str]:
        """Return the missing paths that a newly stored spec keeps."""
        still = set(find_lost_paths(_without_empty(self.request.spec), made, "spec"))
        return [path for path in self.list_missing() if path not in still]

    def _stored_spec(self, manager: Capabilities, server: Capabilities) -> ReadOnlyObject:
        """Return the spec that a server stores of the request, created by a controller manager or by a user."""
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": dict(self.request.spec)}
        try:
            # A controller decodes the template with its own types first: an old one drops fields before the server sees
            # them.
            if self.request.by_controller:
                pod = decode_copy(pod, decoder_for(manager))
            view = make_view(server, self.now)
            stored, errors = view.simulate_create(view.decode(pod))
        except (DecodingError, ApiError):  # what was written by hand need not be a pod
            return self.pod["spec"]  # type: ignore[no-any-return]  # JSON
        return self.pod["spec"] if errors else stored["spec"]  # type: ignore[no-any-return]  # JSON

    def _merge_into_pod(self, spec: ReadOnlyObject) -> Object:
        """Return the pod with the missing fields; fields that the server added stay."""
        return {**self.pod, "spec": _merge(self.pod["spec"], spec)}


def _without_empty(value: Any) -> Any:
    """Return a value without null, empty and zero fields, which the API does not store."""
    if isinstance(value, dict):
        members = {name: _without_empty(one) for name, one in value.items()}
        return {name: one for name, one in members.items() if one not in (None, "", 0, False, [], {})}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


def _merge(below: Any, above: Any) -> Any:
    """Return one value merged over another; fields and items that only one of them has are included."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{name: _merge(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        return [*(_merge(one, other) for one, other in zip(below, above, strict=False)), *above[len(below) :],
                *below[len(above) :]]  # fmt: skip
    return above


def make_view(caps: Capabilities, now: datetime) -> ComponentView:
    """Return the view of a server: its version, gates and time."""
    return ComponentView(caps, now)


def find_update_errors(pod: ReadOnlyObject, caps: Capabilities, now: datetime) -> list[str]:
    """Return why a server rejects every update of a pod except of its status."""
    view = make_view(caps, now)
    return [str(error) for error in view.simulate_update(view.decode(pod))]
