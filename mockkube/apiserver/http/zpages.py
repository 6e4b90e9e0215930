"""`/flagz` and `/statusz`: flags and state of a component, as text or, from 1.35 on, as an object.

Upstream picks another delimiter for each text response, so that nobody parses it; here it is always the same.
"""

# upstream 1.36: apiserver/pkg/server/{flagz,statusz}; 1.34: component-base/zpages
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from aiohttp import web

from mockkube.api.errors import NotAcceptable
from mockkube.api.times import render_time
from mockkube.api.types import Object
from mockkube.apiserver.http.exchange import TEXT, Exchange
from mockkube.apiserver.http.negotiation import JSON, YAML, Clause, Representation, clauses
from mockkube.features.capabilities import Capabilities
from mockkube.features.effective_version import EffectiveVersion
from mockkube.features.versions import Version, binary_version
from mockkube.runtime.clock import Clock

GATES: Final[Mapping[str, str]] = {"flagz": "ComponentFlagz", "statusz": "ComponentStatusz"}
"""Feature gate of each page."""

_GROUP: Final = "config.k8s.io"
_STRUCTURED_SINCE: Final = Version(1, 35)
_BETA_SINCE: Final = Version(1, 36)
_PATHS_SINCE: Final = Version(1, 34)
_OLD_REFUSAL: Final = b"media type not acceptable, must be: text/plain\n"
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only.\n"
)
_NO_DEBUGGING: Final = frozenset({"/apis", "/api", "/openid", "/openapi", "/.well-known"})


@dataclass(frozen=True, slots=True)
class Subject:
    """Component that the pages describe."""

    name: str
    caps: Capabilities
    flags: Mapping[str, str]
    started: datetime


class Pages:
    """Pages of one component."""

    def __init__(self, subject: Subject, clock: Clock, paths: Callable[[], Iterable[str]]) -> None:
        self._subject = subject
        self._clock = clock
        self._paths = paths

    @property
    def served(self) -> tuple[str, ...]:
        """Pages whose gate is enabled."""
        return tuple(page for page, gate in GATES.items() if self._subject.caps.enabled(gate))

    def answer(self, exchange: Exchange, page: str) -> web.StreamResponse:
        """Answer with a page, in the format that the client accepts."""
        if self._subject.caps.version < _STRUCTURED_SINCE:
            if not any(_is_plain(clause) for clause in clauses(exchange.accept)):
                return exchange.respond(_OLD_REFUSAL, status=406, media=TEXT)
            return self._text(exchange, page)
        if not exchange.accept.strip():
            return self._text(exchange, page)
        for clause in clauses(exchange.accept):
            if _is_plain(clause):
                return self._text(exchange, page)
            if (version := self._version(clause, page)) is not None:
                return self._structured(exchange, page, clause.media, version)
        raise NotAcceptable(f"only the following media types are accepted: {JSON}, {YAML}, text/plain")

    def _version(self, clause: Clause, page: str) -> str | None:
        """Return the version of the page's kind in a media type; None if it does not request that kind."""
        versions = ("v1alpha1", "v1beta1") if self._subject.caps.version >= _BETA_SINCE else ("v1alpha1",)
        version = clause.parameter("v")
        kind = (clause.parameter("g"), clause.parameter("as"))
        is_requested = clause.media in (JSON, YAML, "application/*", "*/*") and kind == (_GROUP, page.capitalize())
        return version if is_requested and version in versions else None

    def _text(self, exchange: Exchange, page: str) -> web.StreamResponse:
        text = f"\n{self._subject.name} {page}\n{_WARNING}"
        text += self._flags() if page == "flagz" else self._status()
        return exchange.respond(text.encode(), media=TEXT)

    def _flags(self) -> str:
        return "".join(f"{name}={value}\n" for name, value in sorted(self._subject.flags.items()))

    def _status(self) -> str:
        facts = self._facts()
        up: int = facts["uptimeSeconds"]
        day = f"{self._subject.started.day:2d}"
        text = (
            f"\nStarted: {self._subject.started:%a %b {day} %H:%M:%S UTC %Y}\n"
            f"Up: {up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec\n"
            f"Go version: {facts['goVersion']}\n"
            f"Binary version: {facts['binaryVersion']}\n"
            f"Emulation version: {facts['emulationVersion']}\n"
        )
        paths = f"Paths: {' '.join(facts['paths'])}" if facts["paths"] else ""
        return text if self._subject.caps.version < _PATHS_SINCE else f"{text}{paths}\n"

    def _facts(self) -> Object:
        standing = EffectiveVersion.from_version(self._subject.caps.version)
        folders = {f"/{path.split('/')[1]}" for path in self._paths() if path.strip("/")}
        return {
            "startTime": render_time(self._subject.started),
            "uptimeSeconds": max(int((self._clock.now() - self._subject.started).total_seconds()), 0),
            "goVersion": "",
            "binaryVersion": binary_version(standing.binary),
            "emulationVersion": str(standing.emulated),
            "paths": sorted(folders - _NO_DEBUGGING),
        }

    def _structured(self, exchange: Exchange, page: str, media: str, version: str) -> web.StreamResponse:
        if version == "v1alpha1" and self._subject.caps.version >= _BETA_SINCE:
            exchange.warnings.append(f"This version of the {page} endpoint is deprecated. Please use a newer version.")
        whole: Object = {
            "kind": page.capitalize(),
            "apiVersion": f"{_GROUP}/{version}",
            "metadata": {"name": self._subject.name},
            **({"flags": dict(sorted(self._subject.flags.items()))} if page == "flagz" else self._facts()),
        }
        return exchange.json(whole, representation=Representation(YAML if media == YAML else JSON))


def _is_plain(clause: Clause) -> bool:
    """Return whether a media type accepts plain text."""
    return clause.media in ("text/plain", "text/*", "*/*") and not clause.parameter("as")
