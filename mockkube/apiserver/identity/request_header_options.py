"""Options of an authenticating proxy: its CA, its names, and the headers in which it names users."""

from typing import Final

from mockkube.lazy_dataclasses import dataclass

# Headers that the API server itself sets in requests to aggregated API servers.
USERNAME_HEADER: Final = "X-Remote-User"
GROUP_HEADER: Final = "X-Remote-Group"
EXTRA_PREFIX: Final = "X-Remote-Extra-"
FRONT_PROXY_NAME: Final = "front-proxy-client"


@dataclass(frozen=True, slots=True)
class RequestHeaderOptions:
    """CA and names of proxies, and the headers in which they name users."""

    authority: bytes
    # Common names of proxies; none means any.
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


def make_front_proxy_options(authority: bytes) -> RequestHeaderOptions:
    """Return the options by which servers trust the front proxy of a cluster's API servers."""
    return RequestHeaderOptions(
        authority, (FRONT_PROXY_NAME,), (USERNAME_HEADER,), (), (GROUP_HEADER,), (EXTRA_PREFIX,)
    )
