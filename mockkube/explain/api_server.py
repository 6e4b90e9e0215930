"""What the API server made of a pod: fields that were asked for and are not stored, and changes it refuses."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from mockkube.api.codec import DecodingError
from mockkube.api.errors import ApiError
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.controllers.daemonset.placement import daemon_tolerations, pinned, target_node
from mockkube.explain.components import Team
from mockkube.explain.owners import owner_of
from mockkube.explain.recorded_cluster import see, sight_of
from mockkube.features.capabilities import Capabilities
from mockkube.proposals.places import pod_spec
from mockkube.proposals.view import View, lost

APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OWNERS_MAX: Final = 3
"""How far up owners are asked what they wanted: pod, replica set, deployment."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The pod as somebody asked for it."""

    spec: ReadOnlyObject
    said_by: str
    by_controller: bool
    """Whether a controller made the pod of it, which may not know every field either."""


async def wish_for(client: Client, pod: ReadOnlyObject) -> Wish | None:
    """Return what was asked for: what was applied, of the pod itself or of who owns it, else its owner's template."""
    found: Wish | None = None
    obj = pod
    for height in range(_OWNERS_MAX):
        applied = _applied(obj)
        part = pod_spec({**applied, "kind": obj["kind"]}) if applied else None
        if part is None and height:
            part = pod_spec(obj)
        if part is not None and part.value:
            spec = _of_daemon(part.value, pod) if obj["kind"] == "DaemonSet" else part.value
            found = Wish(spec, f"{obj['kind']} {obj['metadata']['name']}", bool(height))
        owner = await owner_of(client, obj)
        if owner is None:
            break
        obj = owner
    return found


def _of_daemon(spec: ReadOnlyObject, pod: ReadOnlyObject) -> Object:
    """Return what the controller makes of the template of a daemon set for the node of a pod."""
    affinity = pinned(spec.get("affinity"), target_node(pod))
    return {**spec, "tolerations": daemon_tolerations(spec), "affinity": affinity}


def _applied(obj: ReadOnlyObject) -> Mapping[str, Any] | None:
    text = (obj["metadata"].get("annotations") or {}).get(APPLIED, "")
    try:
        applied = json.loads(text) if text else None
    except ValueError:
        return None
    return applied if isinstance(applied, dict) else None


class Change(NamedTuple):
    """Something after which more of a pod would be stored."""

    kind: str
    component: str
    change: str
    pod: Object
    """The pod that would come of it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What of a wish is not stored, and what would be stored of it now, or with something changed."""

    wish: Wish
    pod: ReadOnlyObject
    team: Team
    now: datetime

    def missing(self) -> list[str]:
        """Return the paths that were asked for and are not there."""
        return list(lost(_said(self.wish.spec), self.pod["spec"], "spec"))

    def kept_now(self) -> list[str]:
        """Return those of them that a new pod would have."""
        return self._kept(self._made(self.team.manager.caps, self.team.server.caps))

    def changes(self) -> Iterator[Change]:
        """Yield what would keep more of them than now, and the pod that would come of it."""
        before = set(self.kept_now())
        server, manager = self.team.server, self.team.manager
        if before:
            yield Change("again", "", "the pod is made anew", self._pod(self._made(manager.caps, server.caps)))

        def keeps_more(made: ReadOnlyObject) -> bool:
            return not before.issuperset(self._kept(made))

        for one in server.standing.helpful(lambda caps: keeps_more(self._made(manager.caps, caps))):
            yield Change(one.kind, server.name, one.change, self._pod(self._made(manager.caps, one.caps)))
        for one in manager.standing.variants(()) if self.wish.by_controller else ():
            if keeps_more(made := self._made(one.caps, server.caps)):
                yield Change(one.kind, manager.name, one.change, self._pod(made))

    def _kept(self, made: ReadOnlyObject) -> list[str]:
        still = set(lost(_said(self.wish.spec), made, "spec"))
        return [path for path in self.missing() if path not in still]

    def _made(self, manager: Capabilities, server: Capabilities) -> ReadOnlyObject:
        """Return the spec that a server stores of the wish, made by a controller manager or by a user."""
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": dict(self.wish.spec)}
        try:
            if self.wish.by_controller:
                pod = see(pod, sight_of(manager))
            view = view_of(server, self.now)
            stored, errors = view.created(view.decode(pod))
        except (DecodingError, ApiError):  # what was written by hand need not be a pod
            return self.pod["spec"]  # type: ignore[no-any-return]  # JSON
        return self.pod["spec"] if errors else stored["spec"]  # type: ignore[no-any-return]  # JSON

    def _pod(self, spec: ReadOnlyObject) -> Object:
        """Return the pod with what it lacks; what the server added to it by itself stays."""
        return {**self.pod, "spec": _over(self.pod["spec"], spec)}


def _said(value: Any) -> Any:
    """Return what a manifest says, without what the API does not keep: nothing, none and off."""
    if isinstance(value, dict):
        said = {name: _said(one) for name, one in value.items()}
        return {name: one for name, one in said.items() if one not in (None, "", 0, False, [], {})}
    return [_said(one) for one in value] if isinstance(value, list) else value


def _over(below: Any, above: Any) -> Any:
    """Return one value over another, fields and items that only one has included."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{name: _over(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        return [*(_over(one, other) for one, other in zip(below, above, strict=False)), *above[len(below) :],
                *below[len(above) :]]  # fmt: skip
    return above


def view_of(caps: Capabilities, now: datetime) -> View:
    """Return how a server looks at objects."""
    return View(caps, now)


def refusals(pod: ReadOnlyObject, caps: Capabilities, now: datetime) -> list[str]:
    """Return why a server refuses every change of a pod but that of its status."""
    view = view_of(caps, now)
    return [str(error) for error in view.changed(view.decode(pod))]
