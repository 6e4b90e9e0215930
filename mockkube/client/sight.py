"""What a component of some version sees of an object: the fields its version knows."""

from collections.abc import Callable
from functools import lru_cache

from mockkube.api.codec import Codec, Found, Mismatch
from mockkube.api.errors import Internal
from mockkube.api.schema import Schema
from mockkube.api.types import Object

Lens = Callable[[Object], Object]
"""Makes of a decoded object, which it may keep, what a component sees."""


def unchanged(obj: Object) -> Object:
    """See everything: nobody knows the type, or both sides know the same of it."""
    return obj


@lru_cache(maxsize=32)
def _codec(schema: Schema) -> Codec:
    """The decoders of a version: components come and go, their types stay."""
    return Codec(schema)


class Sight:
    """The types of one component. It decodes as its binary does: what it does not know is not there."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._codec = _codec(schema)

    def knows(self, group: str, version: str, kind: str) -> bool:
        """Whether the component has this type."""
        return self.schema.definition_of(group, version, kind) is not None

    def lens(self, group: str, version: str, kind: str) -> Lens:
        """Return what the component makes of objects of a kind; those of custom resources it sees whole."""
        node = self.schema.kind(group, version, kind)
        if node is None:
            return unchanged
        decode = self._codec.decoder(node)

        def seen(obj: Object) -> Object:
            try:
                known: Object = decode(obj, Found())
            except Mismatch as error:
                raise Internal(f"a component of {self.schema.version} cannot decode this {kind}") from error
            return known

        return seen
