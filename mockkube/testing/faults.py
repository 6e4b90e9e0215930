"""`kube.faults`: let requests fail, wait or return old data while a block runs."""

from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import Final, Self, TypedDict, Unpack

from mockkube.api.json_objects import Object
from mockkube.cluster.control_plane import ControlPlane
from mockkube.runtime.clock import RealClock
from mockkube.testing.cluster_loop import ClusterLoop
from mockkube.testing.objects import ClusterObjects

_FOLLOW_SECONDS: Final = 0.001
_CONFLICT_MESSAGE: Final = "the object has been modified; please apply your changes to the latest version and try again"


# Options that are fields of a Fault's match, and of its spec.
_MATCHED: Final = {
    "namespace": "namespace",
    "name": "name",
    "user": "user",
    "user_agent": "userAgent",
    "component": "component",
}
_LIMITS: Final = {"skip": "skip", "count": "count", "share": "share", "seed": "seed"}


class FaultOptions(TypedDict, total=False):
    """Requests that a fault applies to, by default all, and how often."""

    # As in RBAC: get, list, watch, create, update, patch, delete, deletecollection.
    verb: str | Collection[str]
    # Kind or resource: Pod, pods, deployments.apps; with subresource: Pod/status.
    kind: str | Collection[str]
    namespace: str
    name: str
    # User that the request acts as, like system:serviceaccount:default:app.
    user: str
    # Part of the User-Agent.
    user_agent: str
    # Component of the cluster that sends the request, like kube-scheduler.
    component: str
    # Number of matching requests that pass first, and maximum number of injections.
    skip: int
    count: int
    # Share of the requests, like 0.1, and the seed that makes the choice repeatable.
    share: float
    seed: int


class InjectedFault:
    """A fault as a context, for `with` and `async with`: it applies from entering to leaving."""

    def __init__(
        self, name: str, make_spec: Callable[[], Object], control_plane: ControlPlane, loop: ClusterLoop
    ) -> None:
        self.name = name
        self._make_spec = make_spec
        self._control_plane = control_plane
        self._loop = loop
        self._injected_count = 0
        self._clock = RealClock()

    @property
    def injected_count(self) -> int:
        """Number of requests that it has been injected into."""
        fault = self._control_plane.faults.get(self.name)
        if fault is not None:
            self._injected_count = fault.injected
        return self._injected_count

    def __enter__(self) -> Self:
        self._loop.run(self._start)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.run(self._end)

    async def __aenter__(self) -> Self:
        await self._loop.run_async(self._start)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._loop.run_async(self._end)

    async def _start(self) -> None:
        await self._control_plane.control_api.create_object("faults", self.name, self._make_spec())
        await self._wait_until(lambda: self._control_plane.faults.get(self.name) is not None)

    async def _end(self) -> None:
        _ = self.injected_count  # the last one, before the fault is gone
        await self._control_plane.control_api.delete_object("faults", self.name)
        await self._wait_until(lambda: self._control_plane.faults.get(self.name) is None)

    async def _wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until the controller of faults has followed, in the next turns of the event loop."""
        while not holds():
            await self._clock.sleep(_FOLLOW_SECONDS)


class KubeFaults:
    """Faults of the cluster, for clients and components alike; what `kube` itself does is exempt.

    Each method returns a context: `with kube.faults.errors(503, verb="update", kind="Lease", count=2): ...`
    """

    def __init__(self, control_plane: ControlPlane, objects: ClusterObjects, loop: ClusterLoop) -> None:
        self._control_plane = control_plane
        self._objects = objects
        self._loop = loop
        self._numbers = count(1)

    def errors(
        self,
        code: int = 500,
        *,
        reason: str = "",
        message: str = "",
        retry_after_seconds: int = 0,
        after_effect: bool = False,
        **options: Unpack[FaultOptions],
    ) -> InjectedFault:
        """Answer with an error, from 400 to 599, instead of doing what is requested, or with `after_effect` besides."""
        texts = {"reason": reason, "message": message, "retryAfterSeconds": retry_after_seconds}
        given = {name: value for name, value in texts.items() if value}
        effect = {"afterEffect": True} if after_effect else {}
        return self._make({"status": {"code": code, **given}, **effect}, options)

    def conflicts(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Answer updates and patches, or the verbs given, as if another client had changed the object first."""
        status = {"code": 409, "reason": "Conflict", "message": _CONFLICT_MESSAGE}
        return self._make({"status": status}, {"verb": ("update", "patch"), **options})

    def latency(self, seconds: float, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Delay answers, in the time of the cluster."""
        return self._make({"delaySeconds": seconds}, options)

    def drop_watches(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Close the connections of watches: of open ones at once, of new ones when they start."""
        return self._make({"dropWatch": True}, {"verb": "watch", **options})

    def expired(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Answer lists and watches that continue from a resource version with 410, so that clients list again."""
        return self._make({"expired": True}, options)

    def stale_reads(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Answer `get` and `list` with the state at the beginning of the block."""
        return self._make({"staleReads": True}, options)

    def held_events(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Hold the events of watches, from a matching one on, until the block ends."""
        return self._make({"holdEvents": True}, options)

    def missed_events(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Let watches deliver the next state of an object instead of matching events, at the latest after the block."""
        return self._make({"missEvents": True}, options)

    def repeated_events(self, **options: Unpack[FaultOptions]) -> InjectedFault:
        """Let watches deliver matching events twice."""
        return self._make({"repeatEvents": True}, options)

    def _make(self, inject: Object, options: FaultOptions) -> InjectedFault:
        if unknown := options.keys() - FaultOptions.__annotations__.keys():
            raise TypeError(f"unknown options {sorted(unknown)}: known are {', '.join(FaultOptions.__annotations__)}")

        def make_spec() -> Object:
            return {"match": self._make_match(options), "inject": inject, **_pick(options, _LIMITS)}

        return InjectedFault(f"test-{next(self._numbers)}", make_spec, self._control_plane, self._loop)

    def _make_match(self, options: FaultOptions) -> Object:
        match = _pick(options, _MATCHED)
        if "verb" in options:
            match["verbs"] = _list(options["verb"])
        if "kind" in options:
            match["resources"] = [self._find_resource_name(kind) for kind in _list(options["kind"])]
        return match

    def _find_resource_name(self, name: str) -> str:
        """Return a kind as RBAC names it: `deployments.apps`, `pods/status`."""
        kind, slash, subresource = name.partition("/")
        resource = self._objects.find_resource(kind)
        group = f".{resource.group}" if resource.group else ""
        return f"{resource.plural}{group}{slash}{subresource}"


def _pick(options: FaultOptions, names: Mapping[str, str]) -> Object:
    """Return the options of these names, as fields of a Fault."""
    return {names[name]: value for name, value in options.items() if name in names}


def _list(value: str | Collection[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
