"""Refuse requests that a web page of another site makes a browser send to a server without TLS.

Without TLS a browser needs neither a certificate nor a token to reach the server, so any page the user visits could
read it (by pointing a name of its own at 127.0.0.1) or write to it (by a form or a simple fetch). Four facts reveal
such requests: the Host header, the Origin header, Sec-Fetch-Site, and a body without a media type of the API.
"""

import ipaddress
from collections.abc import Collection
from typing import Final

from mockkube.api.errors import ApiError, BadRequest, Forbidden, UnsupportedMediaType
from mockkube.apiserver.http import web
from mockkube.apiserver.http.connections import HttpHandler
from mockkube.apiserver.http.responses.negotiation import UNKNOWN_BODY_FORMAT
from mockkube.lazy_dataclasses import dataclass

# Media types that a page may send to any site without a preflight request; the empty one is an untyped Blob's.
_SIMPLE_MEDIA: Final = ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
_OTHER_SITES: Final = ("cross-site", "same-site")


@dataclass(frozen=True, slots=True)
class CrossSiteGuard:
    """Handler that passes requests on, except those that a page of another site may have caused."""

    handler: HttpHandler
    allowed_hosts: Collection[str] = ()
    """Host names, besides those of loopback, that clients may use and whose pages may send requests."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer the request, or refuse it with a Status."""
        error = check_cross_site(request, self.allowed_hosts)
        if error is None:
            return await self.handler(request)
        return web.json_response(error.status(), status=error.code)


def check_cross_site(request: web.BaseRequest, allowed_hosts: Collection[str] = ()) -> ApiError | None:
    """Return the error for a request that another site may have caused, else None."""
    host = request.headers.get("Host")
    if host is None:
        # only HTTP/1.0 may leave it out, which no browser speaks
        return None if request.version.minor == 0 else BadRequest("missing required Host header")
    name = parse_host_name(host)
    if not (is_loopback(name) or name in allowed_hosts):
        return _forbidden_error(
            f"the Host header names {host!r}, and without TLS this server answers to loopback addresses only: "
            "use 127.0.0.1 or localhost, give the name with --allowed-hosts, or serve TLS"
        )
    if (why := _find_other_site(request, host, allowed_hosts)) is not None:
        return _forbidden_error(f"{why}, and without TLS this server refuses requests of other sites")
    return _check_body_media_type(request)


def _forbidden_error(why: str) -> Forbidden:
    return Forbidden(f"forbidden: {why}", details={})


def _find_other_site(request: web.BaseRequest, host: str, allowed_hosts: Collection[str]) -> str | None:
    origin = request.headers.get("Origin")
    if origin is not None and _parse_origin(origin) != host.lower().removesuffix(":80"):
        if parse_host_name(origin.partition("://")[2]) in allowed_hosts:
            return None  # the user has named that site
        return f"the Origin header names {origin!r}"
    # A simple GET carries no Origin header, but current browsers say where it comes from.
    site = request.headers.get("Sec-Fetch-Site", "")
    return f"the Sec-Fetch-Site header says {site!r}" if site.lower() in _OTHER_SITES else None


def _check_body_media_type(request: web.BaseRequest) -> ApiError | None:
    """Return the error for a body whose media type needs no preflight request."""
    if not request.body_exists:
        return None
    media = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return UnsupportedMediaType(UNKNOWN_BODY_FORMAT) if media in _SIMPLE_MEDIA else None


def parse_host_name(host: str) -> str:
    """Return the name or address of a Host header, without its port and the brackets of IPv6."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().removesuffix(".")


def is_loopback(name: str) -> bool:
    """Return whether a host name always resolves to the machine it is used on."""
    # RFC 6761, section 6.3: names that end in localhost are never looked up elsewhere
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _parse_origin(origin: str) -> str:
    """Return host and port of an origin over plain HTTP; empty for any other, like `null`."""
    scheme, _, authority = origin.lower().partition("://")
    return authority.removesuffix(":80") if scheme == "http" else ""
