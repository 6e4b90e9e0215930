"""Pulls of images by one node: failed ones are repeated with backoff.

upstream 1.36: pkg/kubelet/images/image_manager.go (pullImage), pkg/kubelet/kubelet.go (imageBackOff)
"""

from dataclasses import field
from datetime import datetime, timedelta
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.kubelet.containers.container_progress import ContainerProgress, waiting_status
from mockkube.kubelet.containers.images import ImagePullError, get_image_size
from mockkube.kubelet.containers.kubelet_event import KubeletEvent
from mockkube.lazy_dataclasses import dataclass

BACKOFF: Final = timedelta(seconds=10)
BACKOFF_MAX: Final = timedelta(seconds=300)
# Time between two syncs of a pod that fail (upstream: backOffPeriod of pod workers).
_SYNC_PERIOD: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class FailedPull:
    """The last pull of an image, which has failed."""

    failed_at: datetime
    backoff: timedelta
    error: ImagePullError
    # Until when the container shows the error itself.
    shown_until: datetime

    @property
    def ends_at(self) -> datetime:
        """When the image is pulled again."""
        return self.failed_at + self.backoff


@dataclass(slots=True)
class ImagePuller:
    """Pulls the images of one node's pods; a restart of the kubelet loses its backoffs."""

    # By uid of the pod, and image.
    failed: dict[tuple[str, str], FailedPull] = field(default_factory=dict)

    def forget(self, uid: str) -> None:
        """Forget the failed pulls of a pod."""
        for key in [one for one in self.failed if one[0] == uid]:
            del self.failed[key]

    def pull(
        self,
        uid: str,
        container: ReadOnlyObject,
        old: ReadOnlyObject,
        error: ImagePullError | None,
        now: datetime,
    ) -> ContainerProgress | tuple[KubeletEvent, ...]:
        """Pull the image of a container: return its progress if it has to wait, else the events of the pull.

        `error` is why the image cannot be pulled now.
        """
        name, image = container["name"], container["image"]
        if error is not None and error.reason != "ErrImagePull":
            return _refuse(old, name, error, now)
        before = self.failed.get((uid, image))
        if before is not None and now < before.ends_at:
            return _back_off(old, name, image, before, now)
        pulling = KubeletEvent("Normal", "Pulling", f'Pulling image "{image}"', name)
        if error is not None:
            failed = self.failed[uid, image] = _record_failure(before, error, now)
            return _show_failure(old, name, image, failed, pulling)
        if before is None:
            return (KubeletEvent("Normal", "Pulled", f'Container image "{image}" already present on machine', name),)
        del self.failed[uid, image]
        text = f'Successfully pulled image "{image}" in 0s (0s including waiting).'
        pulled = KubeletEvent("Normal", "Pulled", f"{text} Image size: {get_image_size(image)} bytes.", name)
        return (pulling, pulled)


def _record_failure(before: FailedPull | None, error: ImagePullError, now: datetime) -> FailedPull:
    """Return a failed pull with its backoff, which doubles with each one."""
    if before is None or now - before.failed_at > 2 * BACKOFF_MAX:
        # The first sync of a pod is followed by another at once, since its sandbox has started.
        return FailedPull(now, BACKOFF, error, now)
    return FailedPull(now, min(2 * before.backoff, BACKOFF_MAX), error, now + _SYNC_PERIOD)


def _show_failure(
    old: ReadOnlyObject, name: str, image: str, failed: FailedPull, pulling: KubeletEvent
) -> ContainerProgress:
    """Let a container wait whose image has just failed to be pulled."""
    error = failed.error
    notes = (
        pulling,
        KubeletEvent("Warning", "Failed", f'Failed to pull image "{image}": {error.message}', name),
        KubeletEvent("Warning", "Failed", "Error: ErrImagePull", name),
    )
    return ContainerProgress(waiting_status(old, error.reason, error.message), failed.shown_until, notes)


def _back_off(old: ReadOnlyObject, name: str, image: str, failed: FailedPull, now: datetime) -> ContainerProgress:
    """Let a container wait until its image is pulled again."""
    reason = (old["state"].get("waiting") or {}).get("reason")
    # differs: upstream repeats the events at each sync, which its correlator counts; here they are recorded once.
    if reason == "ImagePullBackOff":
        return ContainerProgress(dict(old), failed.ends_at)
    if reason == failed.error.reason and now < failed.shown_until:
        return ContainerProgress(dict(old), failed.shown_until)
    back_off = f'Back-off pulling image "{image}"'
    notes = (
        KubeletEvent("Normal", "BackOff", back_off, name),
        KubeletEvent("Warning", "Failed", "Error: ImagePullBackOff", name),
    )
    message = f"{back_off}: {failed.error.reason}: {failed.error.message}"
    return ContainerProgress(waiting_status(old, "ImagePullBackOff", message), failed.ends_at, notes)


def _refuse(old: ReadOnlyObject, name: str, error: ImagePullError, now: datetime) -> ContainerProgress:
    """Let a container wait whose image is not pulled at all; it is looked for again."""
    # Only a change of the pod corrects a malformed name.
    again = None if error.reason == "InvalidImageName" else now + _SYNC_PERIOD
    if (old["state"].get("waiting") or {}).get("reason") == error.reason:
        return ContainerProgress(dict(old), again)
    event = "InspectFailed" if error.reason == "InvalidImageName" else "ErrImageNeverPull"
    failed = KubeletEvent("Warning", "Failed", f"Error: {error.reason}", name)
    notes = (KubeletEvent("Warning", event, error.message, name), failed)
    return ContainerProgress(waiting_status(old, error.reason, error.message), again, notes)
