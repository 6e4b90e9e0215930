"""Objects that pods refer to: ConfigMaps and Secrets, read one by one and cached for a while; Nodes and Services.

upstream 1.36: pkg/kubelet/util/manager (with the change detection strategy Cache), pkg/kubelet/kubelet_pods.go
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, Key
from mockkube.kubelet.pods.pod_status import TERMINAL_PHASES
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.container_states import ContainerStates

# How long an object counts before it is read again; a missing one is looked for at every sync.
CACHED_SECONDS: Final = 60.0
# How much longer an object is kept that no pod needs: pods that are synced seldom keep the last state they have seen.
KEPT_SECONDS: Final = 600.0
_ENTRIES_MAX: Final = 10_000
_VOLUME_KINDS: Final = (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"))
_PROJECTED_KINDS: Final = (("configMap", "ConfigMap"), ("secret", "Secret"))
_KEY_KINDS: Final = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
_SOURCE_KINDS: Final = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))
_CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


class ObjectReference(NamedTuple):
    """Kind, namespace and name of an object."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class _CachedObject:
    """Object as it was read, None if there was none, and until when it counts."""

    obj: ReadOnlyObject | None
    expires_at: float


def find_references(pod: ReadOnlyObject) -> Iterator[ObjectReference]:
    """Yield references of volumes and environment variables."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    for volume in spec.get("volumes") or ():
        for field, kind, name in _VOLUME_KINDS:
            if (source := volume.get(field)) is not None:
                yield ObjectReference(kind, namespace, source.get(name, ""))
        for part in (volume.get("projected") or {}).get("sources") or ():
            for field, kind in _PROJECTED_KINDS:
                if (source := part.get(field)) is not None:
                    yield ObjectReference(kind, namespace, source.get("name", ""))
    for listed in _CONTAINER_LISTS:
        for container in spec.get(listed) or ():
            yield from _find_variable_references(container, namespace)


def _find_variable_references(container: ReadOnlyObject, namespace: str) -> Iterator[ObjectReference]:
    for entry in container.get("envFrom") or ():
        for field, kind in _SOURCE_KINDS:
            if (source := entry.get(field)) is not None:
                yield ObjectReference(kind, namespace, source.get("name", ""))
    for variable in container.get("env") or ():
        for field, kind in _KEY_KINDS:
            if (source := (variable.get("valueFrom") or {}).get(field)) is not None:
                yield ObjectReference(kind, namespace, source.get("name", ""))


class ReferencedObjects:
    """Cache of the objects that pods of this kubelet refer to."""

    def __init__(
        self, client: Client, clock: Clock, nodes: Informer, services: Informer, states: ContainerStates | None = None
    ) -> None:
        self._client, self._clock, self._nodes, self._services = client, clock, nodes, services
        self._container_states = states
        self._cache: dict[ObjectReference, _CachedObject] = {}
        self._sweep_at = clock.monotonic() + KEPT_SECONDS

    async def read(self, pods: Iterable[ReadOnlyObject]) -> None:
        """Read the objects that these pods refer to, as far as they are not cached."""
        now = self._clock.monotonic()
        wanted = dict.fromkeys(reference for pod in pods for reference in _find_needed(pod))
        for reference in wanted:
            cached = self._cache.get(reference)
            if cached is None or cached.expires_at <= now:
                await self._read_one(reference, now)
        if len(self._cache) > _ENTRIES_MAX:
            self._cache = {key: self._cache[key] for key in wanted if key in self._cache}

    def _sweep(self, now: float) -> None:
        """Drop objects now and then that were not needed for a while."""
        if now >= self._sweep_at:
            self._sweep_at = now + KEPT_SECONDS
            kept = {key: cached for key, cached in self._cache.items() if cached.expires_at + KEPT_SECONDS > now}
            self._cache = kept

    async def _read_one(self, reference: ObjectReference, now: float) -> None:
        kind, namespace, name = reference
        try:
            found = await self._client.get(kind, Key(namespace, name))
        except NotFound:
            self._cache[reference] = _CachedObject(None, now)
        except ApiError:
            # The last known state counts while the server does not answer.
            return
        else:
            self._cache[reference] = _CachedObject(found, now + CACHED_SECONDS)
        # Only now: the last known states count while the server does not answer.
        self._sweep(now)

    def make_start(self) -> ContainerStart:
        """Return what containers know about other objects, and what has changed them."""
        return ContainerStart(
            lookup=self._lookup, services=self._services.objects.values, states=self._container_states
        )

    def _lookup(self, kind: str, namespace: str, name: str) -> ReadOnlyObject | None:
        if kind == "Node":
            return self._nodes.get(Key("", name))
        if kind == "Service":
            return self._services.get(Key(namespace, name))
        cached = self._cache.get(ObjectReference(kind, namespace, name))
        return None if cached is None else cached.obj


def _find_needed(pod: ReadOnlyObject) -> list[ObjectReference]:
    """Return the references of a pod that is not about to end; none if it cannot be read, which its sync reports."""
    try:
        ended = (pod.get("status") or {}).get("phase") in TERMINAL_PHASES
        if ended or pod["metadata"].get("deletionTimestamp"):
            return []
        return list(dict.fromkeys(find_references(pod)))
    except (AttributeError, KeyError, TypeError):
        return []
