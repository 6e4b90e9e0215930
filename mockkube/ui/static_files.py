"""Static files of the page, and the headers that keep everything else out of it."""

from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from mockkube.lazy_dataclasses import dataclass

_MEDIA_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}

# Scripts and styles come from this origin and from files only; nothing can be framed, posted or fetched elsewhere.
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
SECURITY_HEADERS: Final = MappingProxyType(
    {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        # A later version of mockkube may be served at the same address.
        "Cache-Control": "no-cache",
    }
)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """Content and media type of a file."""

    content: bytes
    media_type: str


@lru_cache(maxsize=1)
def load_static_files() -> MappingProxyType[str, StaticFile]:
    """Return the files of the page by name."""
    folder = files("mockkube.ui") / "assets"
    return MappingProxyType(
        {
            one.name: StaticFile(one.read_bytes(), media)
            for one in sorted(folder.iterdir(), key=lambda one: one.name)
            if (media := _MEDIA_TYPES.get(one.name.rpartition(".")[2])) is not None
        }
    )
