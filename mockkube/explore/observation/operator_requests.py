"""Requests of operators as they were sent: the API server may store less than they ask for."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from mockkube.api.catalogue import POD_SPEC_PATHS
from mockkube.api.errors import Invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.client.protocol import (
    DELETE_DEFAULT,
    EVERYTHING,
    NO_QUERY,
    Client,
    DeleteOptions,
    Key,
    ObjectList,
    Selection,
    Watch,
)
from mockkube.cluster.simulated_cluster import SimulatedCluster
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.simulated_world import SimulatedWorld
from mockkube.scenario.world import ADMINISTRATOR, RequestOptions, RunContext


@dataclass(frozen=True, slots=True)
class OperatorRequest:
    """One accepted write."""

    body: Any
    # Type of a patch; None for a whole object.
    patch_type: PatchType | None = None
    subresource: str = ""


class OperatorRequests:
    """Accepted writes by the resourceVersion that they led to."""

    def __init__(self) -> None:
        self._requests: dict[str, OperatorRequest] = {}
        # Number of writes of pods or workloads that the API server rejected as invalid.
        self.invalid_count = 0

    def record(self, answer: ReadOnlyObject, request: OperatorRequest) -> None:
        """Record a request under the resourceVersion of its response."""
        version = (answer.get("metadata") or {}).get("resourceVersion")
        if version:
            self._requests[str(version)] = request

    def find(self, revision: int) -> OperatorRequest | None:
        """Return the request that led to a revision of the store."""
        return self._requests.get(str(revision))


class OperatorWorld(SimulatedWorld):
    """Simulated world that records the writes of operators."""

    def __init__(self, cluster: SimulatedCluster, context: RunContext, requests: OperatorRequests) -> None:
        super().__init__(cluster, context)
        self._requests = requests

    def client(self, options: RequestOptions = ADMINISTRATOR) -> Client:
        """Return a client with this identity, which records its writes."""
        return cast("Client", _RecordingClient(super().client(options), self._requests))


class _RecordingClient:
    """Client that records its writes."""

    def __init__(self, client: Client, requests: OperatorRequests) -> None:
        self._client, self._requests = client, requests

    async def get(self, kind: str, key: Key, *, subresource: str = "") -> ReadOnlyObject:
        return await self._client.get(kind, key, subresource=subresource)

    async def get_path(self, path: str, query: Mapping[str, str] = NO_QUERY) -> ReadOnlyObject:
        return await self._client.get_path(path, query)

    async def list(self, kind: str, selection: Selection = EVERYTHING) -> ObjectList:
        return await self._client.list(kind, selection)

    async def watch(self, kind: str, selection: Selection, after: str) -> Watch:
        return await self._client.watch(kind, selection, after)

    async def create(self, kind: str, obj: Object, *, subresource: str = "", name: str = "") -> ReadOnlyObject:
        with self._count_rejections(kind):
            answer = await self._client.create(kind, obj, subresource=subresource, name=name)
        return self._record(answer, OperatorRequest(obj, None, subresource))

    async def update(self, kind: str, obj: Object, *, subresource: str = "") -> ReadOnlyObject:
        with self._count_rejections(kind):
            answer = await self._client.update(kind, obj, subresource=subresource)
        return self._record(answer, OperatorRequest(obj, None, subresource))

    async def patch(
        self, kind: str, key: Key, patch: object, *, patch_type: PatchType = PatchType.STRATEGIC, subresource: str = ""
    ) -> ReadOnlyObject:
        with self._count_rejections(kind):
            answer = await self._client.patch(kind, key, patch, patch_type=patch_type, subresource=subresource)
        return self._record(answer, OperatorRequest(patch, patch_type, subresource))

    async def delete(self, kind: str, key: Key, options: DeleteOptions = DELETE_DEFAULT) -> None:
        await self._client.delete(kind, key, options)

    async def delete_collection(self, kind: str, selection: Selection, options: DeleteOptions = DELETE_DEFAULT) -> None:
        await self._client.delete_collection(kind, selection, options)

    def _record(self, answer: ReadOnlyObject, request: OperatorRequest) -> ReadOnlyObject:
        if isinstance(answer, Mapping):
            self._requests.record(answer, request)
        return answer

    @contextmanager
    def _count_rejections(self, kind: str) -> Iterator[None]:
        try:
            yield
        except Invalid:
            # In the direction down, users notice a disabled gate by such rejections: the API server had to decide.
            self._requests.invalid_count += kind.partition(".")[0] in POD_SPEC_PATHS
            raise
