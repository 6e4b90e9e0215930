"""Memory of the kubelet of one node: admitted pods, preempted pods, IPs, images. A restart loses it."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from mockkube.client.protocol import Key
from mockkube.kubelet.admission.admitted_pod import AdmittedPod
from mockkube.kubelet.containers.hook_runner import HookRunner
from mockkube.kubelet.containers.image_puller import ImagePuller
from mockkube.kubelet.containers.prober import PodProber
from mockkube.lazy_dataclasses import dataclass

_FIRST_HOST_NUMBER: Final = 2
_HOST_NUMBERS: Final = 253


@dataclass(slots=True)
class KubeletState:
    """State of the kubelet of one node; pods are keyed by uid."""

    admitted_pods: dict[str, AdmittedPod] = field(default_factory=dict)
    pod_ips: dict[str, str] = field(default_factory=dict)
    # Preempted pods that have not terminated yet.
    preempted_pods: dict[str, AdmittedPod] = field(default_factory=dict)
    # Keys of pods whose resize is deferred.
    deferred_resizes: dict[str, Key] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    allocated_count: int = 0
    probers: dict[str, PodProber] = field(default_factory=dict)
    image_puller: ImagePuller = field(default_factory=ImagePuller)
    hook_runner: HookRunner = field(default_factory=HookRunner)

    def other_pods(self, uid: str) -> Sequence[AdmittedPod]:
        """Return admitted pods except one."""
        return [admitted for other, admitted in self.admitted_pods.items() if other != uid]

    def allocate_ip(self, uid: str, network: str) -> str:
        """Return the IP of a pod; allocate a free one if it has none."""
        if uid not in self.pod_ips:
            taken = set(self.pod_ips.values())
            # Round robin: the IP of a deleted pod is reused as late as possible. With all in use, pods share one.
            for _ in range(_HOST_NUMBERS):
                self.pod_ips[uid] = f"{network}.{_FIRST_HOST_NUMBER + self.allocated_count % _HOST_NUMBERS}"
                self.allocated_count += 1
                if self.pod_ips[uid] not in taken:
                    break
        return self.pod_ips[uid]

    def preempt(self, victim: AdmittedPod) -> None:
        """Mark an admitted pod as preempted: its requests count no longer."""
        self.admitted_pods.pop(victim.uid, None)
        self.preempted_pods[victim.uid] = victim

    def remove_pod(self, uid: str) -> bool:
        """Remove a terminated or deleted pod; return whether that freed resources."""
        self.pod_ips.pop(uid, None)
        self.probers.pop(uid, None)
        self.image_puller.forget(uid)
        self.hook_runner.forget(uid)
        self.deferred_resizes.pop(uid, None)
        was_doomed = self.preempted_pods.pop(uid, None) is not None
        return self.admitted_pods.pop(uid, None) is not None or was_doomed

    def record_image(self, image: str) -> bool:
        """Record an image; return whether the node did not have it."""
        if image in self.images:
            return False
        self.images[image] = None
        return True
