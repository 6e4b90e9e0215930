"""Decoder of objects as a component of one version does: unknown fields are dropped."""

from collections.abc import Callable
from functools import cache, lru_cache

from mockkube.api.decoding.codec import Codec, Decoder, DecodingError, DecodingState
from mockkube.api.errors import Internal
from mockkube.api.json_objects import Object
from mockkube.api.schema import Schema

# Function that returns a decoded object as the component sees it; it may keep or reuse its argument.
ObjectDecoder = Callable[[Object], Object]


def keep_all_fields(obj: Object) -> Object:
    """Return the object with all fields, for kinds without a type and for equal versions."""
    return obj


@lru_cache(maxsize=32)
def _codec(schema: Schema) -> Codec:
    """Return the codec of a version."""
    # Compiling a codec is slow. Components restart often, and all of one version share it.
    return Codec(schema)


class VersionedDecoder:
    """Types of one component's version."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._codec = _codec(schema)

    def has_kind(self, group: str, version: str, kind: str) -> bool:
        """Return whether the version has this type."""
        return self.schema.find_definition(group, version, kind) is not None

    def decoder_for(self, group: str, version: str, kind: str) -> ObjectDecoder:
        """Return the decoder for objects of a kind; custom resources keep all their fields."""
        if not self.has_kind(group, version, kind):
            return keep_all_fields

        @cache  # compiled with the first object: components decode few of the kinds that they could
        def get_decoder() -> Decoder:
            return self._codec.get_decoder(self.schema.get_kind_type(group, version, kind))

        def decode_known_fields(obj: Object) -> Object:
            try:
                known: Object = get_decoder()(obj, DecodingState())
            except DecodingError as error:
                raise Internal(f"a component of {self.schema.version} cannot decode this {kind}") from error
            return known

        return decode_known_fields
