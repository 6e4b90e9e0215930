"""Memory of the kubelet of one node: admitted pods, preempted pods, IPs, images. A restart loses it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mockkube.client.protocol import Key
from mockkube.kubelet.admitted_pod import Guest

_FIRST_ADDRESS: Final = 2
_ADDRESSES: Final = 253


@dataclass(slots=True)
class House:
    """State of the kubelet of one node; pods are keyed by uid."""

    guests: dict[str, Guest] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    # Preempted pods that have not terminated yet.
    doomed: dict[str, Guest] = field(default_factory=dict)
    # Keys of pods whose resize is deferred.
    waiting: dict[str, Key] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)
    drawn: int = 0

    def others(self, uid: str) -> Sequence[Guest]:
        """Return admitted pods except one."""
        return [guest for other, guest in self.guests.items() if other != uid]

    def address(self, uid: str, network: str) -> str:
        """Return the IP of a pod; allocate a free one if it has none."""
        if uid not in self.addresses:
            taken = set(self.addresses.values())
            # Round robin: the IP of a deleted pod is reused as late as possible. With all in use, pods share one.
            for _ in range(_ADDRESSES):
                self.addresses[uid] = f"{network}.{_FIRST_ADDRESS + self.drawn % _ADDRESSES}"
                self.drawn += 1
                if self.addresses[uid] not in taken:
                    break
        return self.addresses[uid]

    def condemn(self, guest: Guest) -> None:
        """Mark an admitted pod as preempted: its requests count no longer."""
        self.guests.pop(guest.uid, None)
        self.doomed[guest.uid] = guest

    def forget(self, uid: str) -> bool:
        """Remove a terminated or deleted pod; return whether that freed resources."""
        self.addresses.pop(uid, None)
        self.waiting.pop(uid, None)
        was_doomed = self.doomed.pop(uid, None) is not None
        return self.guests.pop(uid, None) is not None or was_doomed

    def pull(self, image: str) -> bool:
        """Record an image; return whether the node did not have it."""
        if image in self.images:
            return False
        self.images[image] = None
        return True
