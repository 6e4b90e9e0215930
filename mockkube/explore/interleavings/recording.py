"""Record the accesses of a running cluster: caches, queues, requests, and writes to the store.

The informers and queues of a cluster that is explored get recording classes; nothing changes for other clusters.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.client.informer import Indexer, IndexFunc, Informer
from mockkube.client.protocol import Key, WatchEvent, key_of
from mockkube.cluster.execution.step_trace import TraceWrite
from mockkube.controllers.framework.informer_worker import InformerWorker
from mockkube.controllers.framework.resource_monitors import ResourceMonitors
from mockkube.controllers.framework.worker import ControllerWorker
from mockkube.explore.interleavings.accesses import AccessRecorder
from mockkube.features.components import CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.kubelet.pod_workers import PodWorkers
from mockkube.runtime.steps import Worker
from mockkube.runtime.work_queue import WorkQueue

# Kinds whose events the scheduler only reads from its informers; those of other kinds change its cache or its queue.
_ONLY_READ_BY_SCHEDULER: Final = (
    "Namespace", "PodDisruptionBudget", "ReplicaSet", "ReplicationController", "Service", "StatefulSet",
)  # fmt: skip
# Workers that share memory beyond their caches and queues, by the end of their names: all steps of the workers of one
# memory depend on each other.
_SHARED_MEMORY: Final[Mapping[str, str]] = {
    f"{SCHEDULER}/cycle": SCHEDULER,
    f"{SCHEDULER}/binding": SCHEDULER,
    f"{SCHEDULER}/evictions": SCHEDULER,
    f"{CONTROLLER_MANAGER}/taint-eviction-controller": "taint-eviction",
    f"{CONTROLLER_MANAGER}/device-taint-eviction-controller": "device-taint-eviction",
    f"{CONTROLLER_MANAGER}/garbage-collector-controller": "garbage-collector",
    f"{CONTROLLER_MANAGER}/garbage-collector-controller/orphans": "garbage-collector",
    f"{CONTROLLER_MANAGER}/resourcequota-controller": "resourcequota",
    f"{CONTROLLER_MANAGER}/node-lifecycle-controller": "node-lifecycle",
    f"{CONTROLLER_MANAGER}/node-lifecycle-controller/monitor": "node-lifecycle",
    f"{CONTROLLER_MANAGER}/node-lifecycle-controller/evictions": "node-lifecycle",
    f"{CONTROLLER_MANAGER}/node-lifecycle-controller/pods": "node-lifecycle",
    f"{CONTROLLER_MANAGER}/persistentvolume-binder-controller": "persistentvolume-binder",
    f"{CONTROLLER_MANAGER}/persistentvolume-binder-controller/volumes": "persistentvolume-binder",
}
# Memories that the monitors of all kinds change.
_MONITORED: Final = ("garbage-collector", "resourcequota")
_EVICTION: Final = "eviction"


def _memory(name: str) -> str:
    return f"memory {name}"


class _RecordingIndexer(Indexer):
    """Index that records which of its values are read."""

    recorder: AccessRecorder
    label: str

    def get(self, value: str) -> list[ReadOnlyObject]:
        self.recorder.read(f"{self.label}={value}")
        return super().get(value)

    def list_values(self, *objects: ReadOnlyObject | None) -> Iterator[str]:
        """Yield the names of the values under which these objects are indexed."""
        for obj in objects:
            if obj is not None:
                yield from (f"{self.label}={value}" for value in self._old_values(obj))


class _RecordingInformer(Informer):
    """Informer that records which of its objects are read and changed."""

    recorder: AccessRecorder
    memories: Sequence[str]

    def _name_object(self, key: Key) -> str:
        return f"{self.name} {key}"

    @property
    def objects(self) -> Mapping[Key, ReadOnlyObject]:
        self.recorder.read(f"{self.name} *")
        return super().objects

    def get(self, key: Key) -> ReadOnlyObject | None:
        self.recorder.read(self._name_object(key))
        return super().get(key)

    def list(self, namespace: str = "") -> Sequence[ReadOnlyObject]:
        if not namespace:
            self.recorder.read(f"{self.name} *")
        return super().list(namespace)

    def index(self, name: str, values: IndexFunc) -> Indexer:
        index = super().index(name, values)
        self._record_index(name, index)
        return index

    def _record_index(self, name: str, index: Indexer) -> None:
        if type(index) is Indexer:
            index.__class__ = _RecordingIndexer
            assert isinstance(index, _RecordingIndexer)
            index.recorder, index.label = self.recorder, f"{self.name} {name}"

    def start_recording(self, recorder: AccessRecorder, memories: Sequence[str]) -> None:
        """Record from now on; `memories` are what the handlers of this informer change beside queues."""
        self.recorder, self.memories = recorder, memories
        self.batch_max = 1
        for name, index in self._indexes.items():
            self._record_index(name, index)

    def _apply(self, event: WatchEvent) -> None:
        key = key_of(event.object)
        old = self._objects.get(key)
        touched = [f"{self.name} *", *self.memories]
        for index in self._indexes.values():
            assert isinstance(index, _RecordingIndexer)
            touched += index.list_values(old, event.object)
        self.recorder.write(self._name_object(key), touched)
        self.recorder.subject = f"{event.type} {self.kind} {key}"
        version = event.object["metadata"].get("resourceVersion", "")
        if version.isdecimal():
            self.recorder.record_delivery(int(version))
        super()._apply(event)


class _RecordingQueue(WorkQueue[Any]):
    """Work queue that records which items are added and taken."""

    recorder: AccessRecorder
    label: str
    # Whether the order of items matters, because keys share memory; else upstream processes them in parallel.
    is_ordered: bool

    def _name_item(self, item: object) -> str:
        return f"{self.label} {item}"

    def _mark_dirty(self, item: Any, since: float) -> bool:
        name = self._name_item(item)
        if item not in self._dirty:
            self.recorder.record_added(name)
            if self.is_ordered:
                self.recorder.write(f"{self.label} order")
        self.recorder.write(name)
        return super()._mark_dirty(item, since)

    def get(self) -> Any:
        item = super().get()
        self.recorder.write(self._name_item(item))
        self.recorder.record_taken(self._name_item(item))
        self.recorder.subject = str(item)
        return item

    def done(self, item: Any) -> None:
        # Whether the item is added before or after this decides when it can be taken again.
        self.recorder.write(self._name_item(item))
        super().done(item)


def record_informer(informer: Informer, recorder: AccessRecorder, memories: Sequence[str] = ()) -> None:
    """Record the reads and changes of an informer's cache, and let it deliver one event in each step."""
    if type(informer) is Informer:
        informer.__class__ = _RecordingInformer
        assert isinstance(informer, _RecordingInformer)
        informer.start_recording(recorder, memories)


def record_queue(queue: WorkQueue[Any], name: str, recorder: AccessRecorder) -> None:
    """Record the items of a queue."""
    if type(queue) is WorkQueue:
        queue.__class__ = _RecordingQueue
        assert isinstance(queue, _RecordingQueue)
        queue.recorder, queue.label, queue.is_ordered = recorder, f"{name} queue", name in _SHARED_MEMORY


def record_workers(component: str, workers: Iterable[Worker], recorder: AccessRecorder) -> None:
    """Record the accesses of a component's workers from now on; workers that are recorded already stay so."""
    for worker in workers:
        match worker:
            case InformerWorker():
                record_informer(worker.informer, recorder)
            case Informer():
                changes = component.startswith(SCHEDULER) and worker.kind not in _ONLY_READ_BY_SCHEDULER
                record_informer(worker, recorder, [_memory(SCHEDULER)] if changes else [])
            case ResourceMonitors():
                for informer in worker.informers:
                    record_informer(informer, recorder, [_memory(name) for name in _MONITORED])
            case ControllerWorker():
                record_queue(worker.controller.work_queue, worker.name, recorder)
            case PodWorkers():
                worker.batch_max = 1


def record_memory(worker: str, recorder: AccessRecorder) -> None:
    """Record that a worker uses the memory that it shares with others."""
    shared = _SHARED_MEMORY.get(worker)
    if shared is None and worker.partition("/")[0].partition(".")[0] == KUBELET and "/cache/" not in worker:
        shared = worker
    if shared is not None:
        recorder.read(_memory(shared))
        recorder.write(_memory(shared))


def record_request(request: ObservedRequest, recorder: AccessRecorder) -> None:
    """Record what a request reads, including what the API server reads to admit it."""
    collection = f"{request.group or 'core'}/{request.resource}"
    if request.name:
        recorder.read(name_stored(collection, request.namespace, request.name))
    elif request.verb in ("list", "watch", "deletecollection"):
        recorder.read(f"store {collection} {request.namespace or '*'}")
    if request.verb == "create" and request.namespace:
        recorder.read(name_stored("core/namespaces", "", request.namespace))
        recorder.read(f"store core/resourcequotas {request.namespace}")
        if request.subresource == _EVICTION:
            recorder.read(f"store policy/poddisruptionbudgets {request.namespace}")


def record_writes(writes: Iterable[TraceWrite], recorder: AccessRecorder) -> None:
    """Record the writes of a step to the store."""
    for write in writes:
        namespace, _, name = write.name.rpartition("/")
        collections = [f"store {write.resource} *", *([f"store {write.resource} {namespace}"] if namespace else ())]
        recorder.write(name_stored(write.resource, namespace, name), collections)
        recorder.record_revision(write.event.revision)


def name_stored(collection: str, namespace: str, name: str) -> str:
    """Return the name of a stored object in accesses."""
    return f"store {collection} {namespace}/{name}" if namespace else f"store {collection} {name}"
