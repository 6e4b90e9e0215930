"""Inputs and result of one sync of a pod."""

from dataclasses import field
from datetime import datetime
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.kubelet.containers.hook_runner import HookRunner
from mockkube.kubelet.containers.image_puller import ImagePuller
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.kubelet.containers.prober import PodProber
from mockkube.kubelet.pods.pod_status import PodStatusRules
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart


@dataclass(frozen=True, slots=True)
class PodSyncInput:
    """Inputs of one sync that come from the pod's node."""

    node_ip: str
    pod_ip: str
    rules: PodStatusRules
    names_container_in_events: bool = False
    # Whether containers get the resources of the spec.
    applies_resources: bool = True
    # Reason and message of a resize that is pending.
    pending_resize: tuple[str, str] | None = None
    # Patterns of images that the node cannot pull.
    unpullable_images: tuple[str, ...] = ()
    # What containers know about other objects when they start.
    start: ContainerStart = field(default_factory=ContainerStart)
    prober: PodProber = field(default_factory=PodProber)
    images: ImagePuller = field(default_factory=ImagePuller)
    hooks: HookRunner = field(default_factory=HookRunner)


@dataclass(frozen=True, slots=True)
class SyncResult:
    """Result of one sync: status patch, deletion, events, time of the next sync."""

    status: Object | None = None
    delete: bool = False
    events: tuple[KubeletEvent, ...] = ()
    next_sync_at: datetime | None = None
    # KWOK stages decide about the pod instead of the kubelet.
    plays_stages: bool = False
    # Containers are stopping; its events are recorded once.
    stopping: bool = False
    # Sync again with the node as the API server has it now.
    needs_fresh_node: bool = False


NOTHING: Final = SyncResult()
PLAY_STAGES: Final = SyncResult(plays_stages=True)
GET_FRESH_NODE: Final = SyncResult(needs_fresh_node=True)
