"""Decide about one pod: admit or reject it, preempt others for it, allocate an IP, resize it, sync its containers.

upstream 1.36: pkg/kubelet/kubelet.go (HandlePodAdditions), pkg/kubelet/allocation/allocation_manager.go
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.admission.handlers import AdmissionRules, PodAdmitResult, admit_pod
from mockkube.kubelet.containers.images import parse_patterns
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.containers.prober import PodProber
from mockkube.kubelet.events.event_reporter import EventReporter
from mockkube.kubelet.nodes.node_status import NodeNumbers, get_internal_ip, get_pod_network
from mockkube.kubelet.pods import resize
from mockkube.kubelet.pods.kubelet_state import KubeletState
from mockkube.kubelet.pods.pod_lifecycle import sync_pod
from mockkube.kubelet.pods.pod_status import TERMINAL_PHASES, PodStatusRules
from mockkube.kubelet.pods.referenced_objects import ReferencedObjects
from mockkube.kubelet.pods.resize import ResizeRules
from mockkube.kubelet.pods.sync_result import GET_FRESH_NODE, PLAY_STAGES, PodSyncInput, SyncResult
from mockkube.kubelet.pods.termination import preempt_pod, reject_pod
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import TaintRules

# Since this version, event messages do not name the container.
_SHORT_MESSAGES_SINCE = Version(1, 35)
# Since this version, the kubelet reads the node again before it rejects a pod for its labels only.
_READS_NODE_AGAIN_SINCE = Version(1, 35)


@dataclass(frozen=True, slots=True)
class KubeletRules:
    """Rules of a kubelet at one version and set of feature gates."""

    admission: AdmissionRules
    status: PodStatusRules
    resize: ResizeRules
    names_container_in_events: bool
    reads_node_again: bool

    @classmethod
    def from_capabilities(cls, caps: Capabilities, taints: TaintRules | None = None) -> "KubeletRules":
        """Return the rules of a kubelet; `taints` interprets tolerations."""
        admission = AdmissionRules.from_capabilities(caps, taints)
        return cls(
            admission,
            PodStatusRules.from_capabilities(caps),
            ResizeRules.from_capabilities(caps),
            caps.version < _SHORT_MESSAGES_SINCE,
            caps.version >= _READS_NODE_AGAIN_SINCE,
        )


@dataclass(frozen=True, slots=True)
class RequeueCallbacks:
    """Callbacks that requeue another pod by key, or a node by name."""

    requeue_pod: Callable[[Key], None]
    requeue_node: Callable[[str], None]


class PodSyncer:
    """Decides about pods one at a time; its state by node is lost on restart, as that of a real kubelet."""

    def __init__(
        self,
        rules: KubeletRules,
        node_numbers: NodeNumbers,
        reporter: EventReporter,
        callbacks: RequeueCallbacks,
        referenced_objects: ReferencedObjects,
    ) -> None:
        self._rules, self._node_numbers, self._reporter, self._callbacks = rules, node_numbers, reporter, callbacks
        self._referenced_objects = referenced_objects
        self._states: dict[str, KubeletState] = {}
        self._stopping: dict[str, None] = {}

    def has_node(self, name: str) -> bool:
        """Return whether there is a state of a node's kubelet."""
        return name in self._states

    def add_node(self, name: str, pods: Iterable[ReadOnlyObject]) -> None:
        """Begin the state of a node's kubelet with the IPs that an earlier kubelet has given to its pods."""
        state = self._states[name] = KubeletState()
        for pod in pods:
            status, on_host = pod.get("status"), pod["spec"].get("hostNetwork")
            # A pod that cannot be read is reported when it is synced.
            if not isinstance(status, dict) or status.get("phase") in TERMINAL_PHASES or on_host:
                continue
            if isinstance(ip := status.get("podIP"), str):
                state.pod_ips[pod["metadata"]["uid"]] = ip

    def remove_node(self, name: str) -> None:
        """Forget the state of a node's kubelet."""
        self._states.pop(name, None)

    def get_images(self, node: str) -> list[str]:
        """Return images that containers of a node started from."""
        state = self._states.get(node)
        return [] if state is None else list(state.images)

    def remove_pod(self, pod: ReadOnlyObject) -> None:
        """Forget a terminated or deleted pod; requeue pods whose deferred resize may fit now."""
        uid = pod["metadata"]["uid"]
        self._stopping.pop(uid, None)
        state = self._states.get(pod["spec"].get("nodeName", ""))
        if state is not None and state.remove_pod(uid):
            for key in state.deferred_resizes.values():
                self._callbacks.requeue_pod(key)

    def retry_probes(self, pod: ReadOnlyObject) -> None:
        """Probe the containers of a pod again at its next sync, as their files have changed."""
        state = self._states.get(pod["spec"].get("nodeName", ""))
        prober = None if state is None else state.probers.get(pod["metadata"]["uid"])
        if prober is not None:
            prober.retry()

    def sync_pod(
        self, pod: ReadOnlyObject, node: ReadOnlyObject, now: datetime, *, node_is_fresh: bool, has_stages: bool
    ) -> SyncResult:
        """Return the result of one sync.

        `node_is_fresh`: the node was just read from the API server; `has_stages`: KWOK stages decide about the pod.
        """
        state = self._states.setdefault(node["metadata"]["name"], KubeletState())
        uid = pod["metadata"]["uid"]
        terminal = (pod.get("status") or {}).get("phase") in TERMINAL_PHASES
        # A terminated pod frees its requests before its object is deleted, as upstream filters terminated pods in
        # admission.
        if terminal:
            self.remove_pod(pod)
        elif (
            uid not in state.admitted_pods
            and uid not in state.preempted_pods
            and not pod["metadata"].get("deletionTimestamp")
        ):
            decision = self._admit(pod, node, state)
            # The informer may lag behind.
            if decision.only_labels_reject and self._rules.reads_node_again and not node_is_fresh:
                return GET_FRESH_NODE
            if decision.rejection is not None:
                self._reporter.record_rejection(pod, decision.rejection.reason)
                return reject_pod(pod, decision.rejection.reason, decision.rejection.message, now)
            for victim in decision.victims:
                state.preempt(victim)
                self._reporter.record_preemption(decision.resource)
                self._callbacks.requeue_pod(victim.key)
            state.admitted_pods[uid] = AdmittedPod.from_object(pod, self._rules.admission.requests)
        if has_stages:
            return PLAY_STAGES
        sync_input = self._make_sync_input(pod, node, state)
        # Stages come first: a preempted pod of theirs fails only if a stage says so.
        if uid in state.preempted_pods and not terminal:
            return preempt_pod(pod, sync_input, now)
        return self._drop_repeated_events(pod, self._sync_admitted(pod, node, state, sync_input, now))

    def _admit(self, pod: ReadOnlyObject, node: ReadOnlyObject, state: KubeletState) -> PodAdmitResult:
        """Admit a pod with its allocated resources, so that a restart does not reject a pod for a pending resize."""
        given = (
            resize.with_allocated_resources(pod) if self._rules.resize.is_enabled and resize.has_resize(pod) else pod
        )
        return admit_pod(given, node, state.other_pods(pod["metadata"]["uid"]), self._rules.admission)

    def _make_sync_input(self, pod: ReadOnlyObject, node: ReadOnlyObject, state: KubeletState) -> PodSyncInput:
        """Return the inputs of a sync that come from the node; allocate the pod's IP."""
        place, uid, status = (
            self._node_numbers.get_number(node["metadata"]["name"]),
            pod["metadata"]["uid"],
            pod.get("status") or {},
        )
        pod_ip: str = status.get("podIP") or ""
        if not pod_ip and not pod["spec"].get("hostNetwork"):
            pod_ip = state.allocate_ip(uid, get_pod_network(node, place))
        # After a restart the IP of the status is taken over, so that no other pod gets it.
        elif pod_ip and status.get("phase") not in TERMINAL_PHASES:
            state.pod_ips[uid] = pod_ip
        return PodSyncInput(
            get_internal_ip(node, place),
            pod_ip,
            self._rules.status,
            self._rules.names_container_in_events,
            unpullable_images=parse_patterns(node),
            start=self._referenced_objects.make_start(),
            prober=state.probers.setdefault(uid, PodProber()),
            images=state.image_puller,
            hooks=state.hook_runner,
        )

    def _sync_admitted(
        self, pod: ReadOnlyObject, node: ReadOnlyObject, state: KubeletState, sync_input: PodSyncInput, now: datetime
    ) -> SyncResult:
        """Sync an admitted pod, after a resize if there is one."""
        notes: tuple[KubeletEvent, ...] = ()
        if self._rules.resize.is_enabled and resize.has_resize(pod) and not pod["metadata"].get("deletionTimestamp"):
            sync_input, notes = self._resize(pod, node, state, sync_input)
        what = sync_pod(pod, sync_input, now)
        self._record_image(pod, {note.container for note in what.events if note.reason == "Started"}, state)
        return replace(what, events=(*notes, *what.events)) if notes else what

    def _resize(
        self, pod: ReadOnlyObject, node: ReadOnlyObject, state: KubeletState, sync_input: PodSyncInput
    ) -> tuple[PodSyncInput, tuple[KubeletEvent, ...]]:
        """Resize a pod if the node has room; else defer it and return the event."""
        rules, uid = self._rules, pod["metadata"]["uid"]
        pending = resize.find_infeasible(pod, node, rules.admission) if rules.resize.has_infeasible else None
        if pending is None:
            decision = admit_pod(pod, node, state.other_pods(uid), rules.admission)
            pending = None if decision.rejection is None else resize.make_deferred(decision.rejection)
        if pending is None:
            state.deferred_resizes.pop(uid, None)
            state.admitted_pods[uid] = resize.make_resized_pod(pod, rules.admission)
            return sync_input, resize.completed_events(pod, rules.resize)
        if pending.reason == resize.DEFERRED:
            state.deferred_resizes[uid] = key_of(pod)
        events = resize.pending_events(pod, pending, rules.resize)
        return replace(sync_input, applies_resources=False, pending_resize=(pending.reason, pending.message)), events

    def _record_image(self, pod: ReadOnlyObject, started: Collection[str], state: KubeletState) -> None:
        """Record the images that containers started from; requeue the node if one is new."""
        if not started:
            return
        for listed in ("initContainers", "containers", "ephemeralContainers"):
            for one in pod["spec"].get(listed) or ():
                if one["name"] in started and state.record_image(one["image"]):
                    self._callbacks.requeue_node(pod["spec"]["nodeName"])

    def _drop_repeated_events(self, pod: ReadOnlyObject, result: SyncResult) -> SyncResult:
        """Drop the events of a stopping pod that were recorded already."""
        uid = pod["metadata"]["uid"]
        if not result.stopping:
            return result
        if uid in self._stopping:
            return replace(result, events=())
        self._stopping[uid] = None
        return result
