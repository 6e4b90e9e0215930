"""Decide about one pod: admit or reject it, preempt others for it, allocate an IP, resize it, sync its containers.

upstream 1.36: pkg/kubelet/kubelet.go (HandlePodAdditions), pkg/kubelet/allocation/allocation_manager.go
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from mockkube.api.types import ReadOnlyObject
from mockkube.client.protocol import Key, key_of
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version
from mockkube.kubelet import resize
from mockkube.kubelet.admission import AdmissionRules, Verdict, admit
from mockkube.kubelet.admitted_pod import Guest
from mockkube.kubelet.containers import Note
from mockkube.kubelet.event_reporter import Reporter
from mockkube.kubelet.kubelet_state import House
from mockkube.kubelet.lifecycle import plan
from mockkube.kubelet.node_status import Places, internal_ip, pod_network
from mockkube.kubelet.pod_status import TERMINAL, StatusRules
from mockkube.kubelet.resize import ResizeRules
from mockkube.kubelet.sync_result import LOOK_AGAIN, STAGED, Host, Plan
from mockkube.kubelet.termination import preempted, rejected
from mockkube.matching.taints import TaintRules

# Since this version, event messages do not name the container.
_SHORT_TEXTS = Version(1, 35)


@dataclass(frozen=True, slots=True)
class KubeletRules:
    """Rules of a kubelet at one version and set of feature gates."""

    admission: AdmissionRules
    status: StatusRules
    resizes: ResizeRules
    long_texts: bool

    @classmethod
    def of(cls, caps: Capabilities, taints: TaintRules | None = None) -> "KubeletRules":
        """Return the rules of a kubelet; `taints` interprets tolerations."""
        admission = AdmissionRules.of(caps, taints)
        return cls(admission, StatusRules.of(caps), ResizeRules.of(caps), caps.version < _SHORT_TEXTS)


@dataclass(frozen=True, slots=True)
class Bells:
    """Callbacks that requeue another pod by key, or a node by name."""

    pod: Callable[[Key], None]
    node: Callable[[str], None]


class Desk:
    """Decides about pods one at a time; its state by node is lost on restart, as that of a real kubelet."""

    def __init__(self, rules: KubeletRules, places: Places, reporter: Reporter, bells: Bells) -> None:
        self._rules, self._places, self._reporter, self._bells = rules, places, reporter, bells
        self._houses: dict[str, House] = {}
        self._stopping: dict[str, None] = {}

    def close_house(self, name: str) -> None:
        """Forget the state of a node's kubelet."""
        self._houses.pop(name, None)

    def images(self, node: str) -> list[str]:
        """Return images that containers of a node started from."""
        house = self._houses.get(node)
        return [] if house is None else list(house.images)

    def forget(self, pod: ReadOnlyObject) -> None:
        """Forget a terminated or deleted pod; requeue pods whose deferred resize may fit now."""
        uid = pod["metadata"]["uid"]
        self._stopping.pop(uid, None)
        house = self._houses.get(pod["spec"].get("nodeName", ""))
        if house is not None and house.forget(uid):
            for key in house.waiting.values():
                self._bells.pod(key)

    def decide(self, pod: ReadOnlyObject, node: ReadOnlyObject, now: datetime, *, fresh: bool, staged: bool) -> Plan:
        """Return the result of one sync.

        `node_is_fresh`: the node was just read from the API server; `has_stages`: KWOK stages decide about the pod.
        """
        house = self._houses.setdefault(node["metadata"]["name"], House())
        uid = pod["metadata"]["uid"]
        terminal = (pod.get("status") or {}).get("phase") in TERMINAL
        # A terminated pod frees its requests before its object is deleted, as upstream filters terminated pods in
        # admission.
        if terminal:
            self.forget(pod)
        elif uid not in house.guests and uid not in house.doomed and not pod["metadata"].get("deletionTimestamp"):
            verdict = self._judge(pod, node, house)
            # Upstream, too, reads the node again before it rejects a pod for its labels only: the informer may lag
            # behind.
            if verdict.stale and not fresh:
                return LOOK_AGAIN
            if verdict.refusal is not None:
                self._reporter.refused(pod, verdict.refusal.reason)
                return rejected(pod, verdict.refusal.reason, verdict.refusal.message, now)
            for victim in verdict.victims:
                house.condemn(victim)
                self._reporter.preempted(verdict.resource)
                self._bells.pod(victim.key)
            house.guests[uid] = Guest.of(pod, self._rules.admission.requests)
        if staged:
            return STAGED
        host = self._host(pod, node, house)
        # Stages come first: a preempted pod of theirs fails only if a stage says so.
        if uid in house.doomed and not terminal:
            return preempted(pod, host, now)
        return self._once(pod, self._go_on(pod, node, house, host, now))

    def _judge(self, pod: ReadOnlyObject, node: ReadOnlyObject, house: House) -> Verdict:
        """Admit a pod with its allocated resources, so that a restart does not reject a pod for a pending resize."""
        given = resize.with_given(pod) if self._rules.resizes.on and resize.is_asked(pod) else pod
        return admit(given, node, house.others(pod["metadata"]["uid"]), self._rules.admission)

    def _host(self, pod: ReadOnlyObject, node: ReadOnlyObject, house: House) -> Host:
        """Return the inputs of a sync that come from the node; allocate the pod's IP."""
        place, uid, status = self._places.of(node["metadata"]["name"]), pod["metadata"]["uid"], pod.get("status") or {}
        pod_ip: str = status.get("podIP") or ""
        if not pod_ip and not pod["spec"].get("hostNetwork"):
            pod_ip = house.address(uid, pod_network(node, place))
        # After a restart the IP of the status is taken over, so that no other pod gets it.
        elif pod_ip and status.get("phase") not in TERMINAL:
            house.addresses[uid] = pod_ip
        return Host(internal_ip(node, place), pod_ip, self._rules.status, self._rules.long_texts)

    def _go_on(self, pod: ReadOnlyObject, node: ReadOnlyObject, house: House, host: Host, now: datetime) -> Plan:
        """Sync an admitted pod, after a resize if there is one."""
        notes: tuple[Note, ...] = ()
        if resize.is_asked(pod) and not pod["metadata"].get("deletionTimestamp"):
            host, notes = self._resized(pod, node, house, host)
        what = plan(pod, host, now)
        self._pulled(pod, {note.container for note in what.notes if note.reason == "Started"}, house)
        return replace(what, notes=(*notes, *what.notes)) if notes else what

    def _resized(
        self, pod: ReadOnlyObject, node: ReadOnlyObject, house: House, host: Host
    ) -> tuple[Host, tuple[Note, ...]]:
        """Resize a pod if the node has room; else defer it and return the event."""
        rules, uid = self._rules, pod["metadata"]["uid"]
        if not rules.resizes.on:
            return replace(host, resizes=False), ()
        pending = resize.beyond(pod, node, rules.admission) if rules.resizes.knows_capacity else None
        if pending is None:
            verdict = admit(pod, node, house.others(uid), rules.admission)
            pending = None if verdict.refusal is None else resize.waiting_for(verdict.refusal)
        if pending is None:
            house.waiting.pop(uid, None)
            house.guests[uid] = resize.settled_guest(pod, rules.admission)
            return host, resize.notes_done(pod, rules.resizes)
        if pending.reason == resize.DEFERRED:
            house.waiting[uid] = key_of(pod)
        events = resize.notes_pending(pod, pending, rules.resizes)
        return replace(host, resizes=False, pending=(pending.reason, pending.message)), events

    def _pulled(self, pod: ReadOnlyObject, started: Collection[str], house: House) -> None:
        """Record the images that containers started from; requeue the node if one is new."""
        if not started:
            return
        for listed in ("initContainers", "containers", "ephemeralContainers"):
            for one in pod["spec"].get(listed) or ():
                if one["name"] in started and house.pull(one["image"]):
                    self._bells.node(pod["spec"]["nodeName"])

    def _once(self, pod: ReadOnlyObject, what: Plan) -> Plan:
        """Drop the events of a stopping pod that were recorded already."""
        uid = pod["metadata"]["uid"]
        if not what.stopping:
            return what
        if uid in self._stopping:
            return replace(what, notes=())
        self._stopping[uid] = None
        return what
