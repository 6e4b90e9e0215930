"""What one kubelet remembers: whom it let in, who must go, addresses, images. A restart loses it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mockkube.client.protocol import Key
from mockkube.kubelet.admitted_pod import Guest

_FIRST_ADDRESS: Final = 2
_ADDRESSES: Final = 253


@dataclass(slots=True)
class House:
    """The memory of the kubelet of one node; guests and addresses are found by uid."""

    guests: dict[str, Guest] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    doomed: dict[str, Guest] = field(default_factory=dict)
    """Who has to go for a critical pod, and is not over yet."""
    waiting: dict[str, Key] = field(default_factory=dict)
    """Whose resize waits for room."""
    images: dict[str, None] = field(default_factory=dict)
    drawn: int = 0

    def others(self, uid: str) -> Sequence[Guest]:
        """Return the guests beside a pod."""
        return [guest for other, guest in self.guests.items() if other != uid]

    def address(self, uid: str, network: str) -> str:
        """Return the address of a pod, a free one if it has none."""
        if uid not in self.addresses:
            taken = set(self.addresses.values())
            for _ in range(_ADDRESSES):
                self.addresses[uid] = f"{network}.{_FIRST_ADDRESS + self.drawn % _ADDRESSES}"
                self.drawn += 1
                if self.addresses[uid] not in taken:
                    break
        return self.addresses[uid]

    def condemn(self, guest: Guest) -> None:
        """Let a guest go: it counts no longer."""
        self.guests.pop(guest.uid, None)
        self.doomed[guest.uid] = guest

    def forget(self, uid: str) -> bool:
        """Forget a pod that is gone, or over; return whether that has made room."""
        self.addresses.pop(uid, None)
        self.waiting.pop(uid, None)
        was_doomed = self.doomed.pop(uid, None) is not None
        return self.guests.pop(uid, None) is not None or was_doomed

    def pull(self, image: str) -> bool:
        """Take note of an image; return whether it is new here."""
        if image in self.images:
            return False
        self.images[image] = None
        return True
