"""Facts about specs of pods, remembered by the digest of the spec.

Replicas of a workload have equal specs, and a pod keeps its spec in most of its updates: what follows from a spec
alone is computed once.
"""

from typing import Final, Generic, TypeVar

from mockkube.api.bounded_cache import BoundedCache

V = TypeVar("V")

_SPECS_MAX: Final = 4096


class KnownSpecs(Generic[V]):
    """Values that follow from a spec and from settings, like the capabilities of a server.

    Settings are compared by identity: a spec that servers with different settings write in turn is computed in turn.
    """

    def __init__(self) -> None:
        self._values: BoundedCache[bytes, tuple[object, V]] = BoundedCache(_SPECS_MAX)

    def get(self, digest: bytes, settings: object) -> V | None:
        """Return the value of a spec; None if it is not known."""
        known = self._values.get(digest)
        return known[1] if known is not None and known[0] is settings else None

    def put(self, digest: bytes, settings: object, value: V) -> None:
        """Remember the value of a spec."""
        self._values.put(digest, (settings, value))
