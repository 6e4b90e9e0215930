"""URL functions: `url`, `isURL` and accessors of `kubernetes.URL`.

upstream 1.36: apiserver/pkg/cel/library/urls.go
"""

from collections.abc import Callable
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import Function, Overload, global_overload, member_overload
from mockkube_cel.golang import gourl
from mockkube_cel.types import BOOL, STRING, CelType
from mockkube_cel.values import CelError

_URL: Final = types.struct("kubernetes.URL")
_QUERY: Final = types.map_of(STRING, types.list_of(STRING))

values.register_opaque_type(gourl.Url, values.OpaqueType(_URL, "cel.URL", lambda one, other: str(one) == str(other)))


def parse(text: str) -> Any:
    """Compute `url(text)`."""
    try:
        # Rejects relative URLs, as the OpenAPI format `uri` does; only the second parse splits off the fragment.
        gourl.parse_request(text)
        return gourl.parse(text)
    except gourl.UrlError as error:
        return CelError(f"URL parse error during conversion from string: {error}")


def is_url(text: str) -> bool:
    """Compute `isURL(text)`."""
    try:
        gourl.parse_request(text)
    except gourl.UrlError:
        return False
    return True


def _declare_accessor(
    name: str, overload_id: str, read: Callable[[gourl.Url], Any], result: CelType = STRING
) -> Function:
    return Function(name, (member_overload(overload_id, (_URL,), result, read),), estimate=costs.estimate_unit)


FUNCTIONS: Final = (
    Function(
        "url",
        (
            Overload(
                "string_to_url",
                (STRING,),
                _URL,
                parse,
                estimate=costs.estimate_traversal(keeps_size=True),
                charge=costs.charge_traversal(),
            ),
        ),
    ),
    _declare_accessor("getScheme", "url_get_scheme", lambda url: url.scheme),
    _declare_accessor("getHost", "url_get_host", lambda url: url.host),
    _declare_accessor("getHostname", "url_get_hostname", lambda url: url.hostname),
    _declare_accessor("getPort", "url_get_port", lambda url: url.port),
    _declare_accessor("getEscapedPath", "url_get_escaped_path", lambda url: url.escaped_path),
    _declare_accessor("getQuery", "url_get_query", lambda url: url.parse_query(), _QUERY),
    Function("isURL", (global_overload("is_url_string", (STRING,), BOOL, is_url),)),
)
