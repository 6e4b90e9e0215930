"""Content negotiation: the format of a response from Accept, the format of a body from Content-Type."""

from collections.abc import Sequence
from typing import Final

from mockkube.api.errors import NotAcceptable, UnsupportedMediaType
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.text_cache import cache_short_texts

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_SERVED: Final = (JSON, YAML, PROTOBUF)
_SERVED_WITH_WATCH: Final = (
    *_SERVED,
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
)
_TRANSFORMS: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
ACCEPTED_MEDIA_TYPES: Final = f"only the following media types are accepted: {', '.join(_SERVED)}"
UNKNOWN_BODY_FORMAT: Final = (
    f"the body of the request was in an unknown format - accepted media types include: {', '.join(_SERVED)}"
)
_STREAMED_MEDIA_TYPES: Final = (
    "only the following media types are accepted: application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)


@dataclass(frozen=True, slots=True)
class AcceptClause:
    """One media type of an Accept header with its parameters."""

    media: str
    parameters: tuple[tuple[str, str], ...]
    quality: float

    def get_parameter(self, name: str) -> str:
        """Return the value of a parameter, empty if it is missing."""
        return dict(self.parameters).get(name, "")


@dataclass(frozen=True, slots=True)
class Representation:
    """Format of a response: media type, and the kind the object is transformed to."""

    media: str = JSON
    transform: str = ""
    version: str = "v1"
    """Version of the meta.k8s.io kind named by `transform`."""


PLAIN_JSON: Final = Representation()


@cache_short_texts(maxsize=512)
def parse_accept(accept: str) -> tuple[AcceptClause, ...]:
    """Return the media types of an Accept header, the preferred ones first."""
    found = []
    for text in accept.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        if not media:
            continue
        pairs = [(name.strip(), value.strip()) for name, _, value in (part.partition("=") for part in rest)]
        quality = next((_parse_quality(value) for name, value in pairs if name == "q"), 1.0)
        found.append(AcceptClause(media, tuple(pair for pair in pairs if pair[0] != "q"), quality))
    # The sort is stable: media types of equal quality keep the order of the header.
    return tuple(sorted(found, key=lambda clause: -clause.quality))


def _parse_quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


@cache_short_texts(maxsize=512)
def negotiate_output(
    accept: str, *, watch: bool = False, is_list: bool = False, protobuf: bool = False, tabular: bool = True
) -> Representation:
    """Choose the format of a response; raise NotAcceptable if the client accepts none.

    `watch`, `is_list`: what the request is. `protobuf`: the objects have protobuf messages (metadata always has).
    `tabular`: the objects can be shown as a table.
    """
    if accept in ("", JSON):
        return PLAIN_JSON
    offered = parse_accept(accept)
    # upstream: go-restful refuses what no route produces, in its own words, before the API's negotiation runs.
    if not any(clause.media in (*_SERVED, "*/*") for clause in offered):
        raise route_not_acceptable(_SERVED_WITH_WATCH if watch or is_list else _SERVED)
    for clause in offered:
        if (chosen := _select_representation(clause, protobuf=protobuf, tabular=tabular)) is not None:
            # YAML has no framing for a stream.
            if watch and chosen.media == YAML:
                raise NotAcceptable(_STREAMED_MEDIA_TYPES)
            return chosen
    raise NotAcceptable(ACCEPTED_MEDIA_TYPES)


def route_not_acceptable(offered: Sequence[str] = (JSON,)) -> NotAcceptable:
    """Return go-restful's error for a client that accepts none of a path's media types."""
    return NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}", details={})


def accepts_json(accept: str) -> bool:
    """Return whether the client accepts JSON."""
    return accept == "" or any(clause.media in (JSON, "*/*") for clause in parse_accept(accept))


def _select_representation(clause: AcceptClause, *, protobuf: bool, tabular: bool) -> Representation | None:
    # upstream 1.36: apiserver/pkg/endpoints/handlers/rest.go, AllowsMediaTypeTransform
    media = {"*/*": JSON, "application/*": JSON}.get(clause.media, clause.media)
    if media not in _SERVED or clause.get_parameter("stream") not in ("", "watch"):
        return None
    transform = clause.get_parameter("as")
    if not transform:
        return Representation(media) if protobuf or media != PROTOBUF else None
    group, version = clause.get_parameter("g"), clause.get_parameter("v")
    if transform not in _TRANSFORMS or group != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    # upstream: Table has no protobuf message, as its cells are of any type.
    if transform == "Table" and (media == PROTOBUF or not tabular):
        return None
    return Representation(media, transform, version)


def negotiate_error(accept: str) -> Representation:
    """Return the format of an error: YAML or protobuf if the client prefers it, else JSON."""
    for clause in parse_accept(accept):
        if (
            not clause.get_parameter("as")
            and (chosen := _select_representation(clause, protobuf=True, tabular=True)) is not None
        ):
            return chosen
    return PLAIN_JSON


def parse_content_type(content_type: str) -> str:
    """Return the media type of a body: JSON, YAML or protobuf; raise UnsupportedMediaType for others."""
    if content_type in ("", JSON):
        return JSON
    media = content_type.partition(";")[0].strip().lower()
    if media in _SERVED:
        return media
    raise UnsupportedMediaType(UNKNOWN_BODY_FORMAT)
