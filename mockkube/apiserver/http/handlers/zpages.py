"""`/flagz` and `/statusz`: flags and state of a component, as text or, from 1.35 on, as an object.

Upstream picks another delimiter for each text response, so that no program relies on it; here it is always the same.
"""

# upstream 1.36: apiserver/pkg/server/{flagz,statusz}; 1.34: component-base/zpages
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from mockkube.api.errors import NotAcceptable
from mockkube.api.json_objects import Object
from mockkube.api.times import render_time
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import TEXT, RequestContext
from mockkube.apiserver.http.responses.negotiation import JSON, YAML, AcceptClause, Representation, parse_accept
from mockkube.features.capabilities import Capabilities
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.versions import Version, binary_version
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock

GATES: Final[Mapping[str, str]] = {"flagz": "ComponentFlagz", "statusz": "ComponentStatusz"}
"""Feature gate of each page."""

_GROUP: Final = "config.k8s.io"
_STRUCTURED_SINCE: Final = Version(1, 35)
_BETA_SINCE: Final = Version(1, 36)
_PATHS_SINCE: Final = Version(1, 34)
_NOT_ACCEPTABLE_TEXT: Final = b"media type not acceptable, must be: text/plain\n"
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only.\n"
)
_HIDDEN_PATHS: Final = frozenset({"/apis", "/api", "/openid", "/openapi", "/.well-known"})


@dataclass(frozen=True, slots=True)
class ZpagesComponent:
    """Component that the pages describe."""

    name: str
    caps: Capabilities
    flags: Mapping[str, str]
    started: datetime


class Zpages:
    """Pages of one component."""

    def __init__(self, subject: ZpagesComponent, clock: Clock, paths: Callable[[], Iterable[str]]) -> None:
        self._component = subject
        self._clock = clock
        self._paths = paths

    @property
    def enabled_pages(self) -> tuple[str, ...]:
        """Pages whose gate is enabled."""
        return tuple(page for page, gate in GATES.items() if self._component.caps.enabled(gate))

    def respond(self, context: RequestContext, page: str) -> web.StreamResponse:
        """Answer with a page, in the format that the client accepts."""
        if self._component.caps.version < _STRUCTURED_SINCE:
            if not any(_is_plain(clause) for clause in parse_accept(context.accept)):
                return context.respond(_NOT_ACCEPTABLE_TEXT, status=406, media=TEXT)
            return self._respond_text(context, page)
        if not context.accept.strip():
            return self._respond_text(context, page)
        for clause in parse_accept(context.accept):
            if _is_plain(clause):
                return self._respond_text(context, page)
            if (version := self._requested_version(clause, page)) is not None:
                return self._respond_object(context, page, clause.media, version)
        raise NotAcceptable(f"only the following media types are accepted: {JSON}, {YAML}, text/plain")

    def _requested_version(self, clause: AcceptClause, page: str) -> str | None:
        """Return the version of the page's kind in a media type; None if it does not request that kind."""
        versions = ("v1alpha1", "v1beta1") if self._component.caps.version >= _BETA_SINCE else ("v1alpha1",)
        version = clause.get_parameter("v")
        kind = (clause.get_parameter("g"), clause.get_parameter("as"))
        is_requested = clause.media in (JSON, YAML, "application/*", "*/*") and kind == (_GROUP, page.capitalize())
        return version if is_requested and version in versions else None

    def _respond_text(self, context: RequestContext, page: str) -> web.StreamResponse:
        text = f"\n{self._component.name} {page}\n{_WARNING}"
        text += self._render_flags() if page == "flagz" else self._render_status()
        return context.respond(text.encode(), media=TEXT)

    def _render_flags(self) -> str:
        return "".join(f"{name}={value}\n" for name, value in sorted(self._component.flags.items()))

    def _render_status(self) -> str:
        facts = self._status_fields()
        up: int = facts["uptimeSeconds"]
        day = f"{self._component.started.day:2d}"
        text = (
            f"\nStarted: {self._component.started:%a %b {day} %H:%M:%S UTC %Y}\n"
            f"Up: {up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec\n"
            f"Go version: {facts['goVersion']}\n"
            f"Binary version: {facts['binaryVersion']}\n"
            f"Emulation version: {facts['emulationVersion']}\n"
        )
        paths = f"Paths: {' '.join(facts['paths'])}" if facts["paths"] else ""
        return text if self._component.caps.version < _PATHS_SINCE else f"{text}{paths}\n"

    def _status_fields(self) -> Object:
        effective = EffectiveVersion.from_version(self._component.caps.version)
        folders = {f"/{path.split('/')[1]}" for path in self._paths() if path.strip("/")}
        return {
            "startTime": render_time(self._component.started),
            "uptimeSeconds": max(int((self._clock.now() - self._component.started).total_seconds()), 0),
            "goVersion": "",
            "binaryVersion": binary_version(effective.binary),
            "emulationVersion": str(effective.emulated),
            "paths": sorted(folders - _HIDDEN_PATHS),
        }

    def _respond_object(self, context: RequestContext, page: str, media: str, version: str) -> web.StreamResponse:
        if version == "v1alpha1" and self._component.caps.version >= _BETA_SINCE:
            context.warnings.append(f"This version of the {page} endpoint is deprecated. Please use a newer version.")
        obj: Object = {
            "kind": page.capitalize(),
            "apiVersion": f"{_GROUP}/{version}",
            "metadata": {"name": self._component.name},
            **({"flags": dict(sorted(self._component.flags.items()))} if page == "flagz" else self._status_fields()),
        }
        return context.respond_json(obj, representation=Representation(YAML if media == YAML else JSON))


def _is_plain(clause: AcceptClause) -> bool:
    """Return whether a media type accepts plain text."""
    return clause.media in ("text/plain", "text/*", "*/*") and not clause.get_parameter("as")
