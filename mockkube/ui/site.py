"""Site of the page: static files, login, the stream of rows, and everything that is forwarded to the API.

Every path is below `/ui/`. What shows or changes anything needs a session: its cookie, and its key in a header that a
page of another site cannot make a browser send.
"""

import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

import orjson
from mockkube_storage.store import Store

from mockkube.api.errors import ApiError, BadRequest, Forbidden, MethodNotAllowed, NotFound, Unauthorized
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import parse_query
from mockkube.apiserver.registry.options import first_value
from mockkube.apiserver.registry.resource import Resource
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.clock import Clock
from mockkube.ui.access import RowAccess
from mockkube.ui.api_forwarding import ApiForwarder
from mockkube.ui.cluster_history import ClusterHistory
from mockkube.ui.object_revisions import read_revisions
from mockkube.ui.sessions import Session, Sessions
from mockkube.ui.static_files import SECURITY_HEADERS, load_static_files
from mockkube.ui.stream import read_lines

ROOT: Final = "/ui/"
KEY_HEADER: Final = "Mockkube-Ui-Key"
BODY_BYTES_MAX: Final = 64 * 1024
# An exploration of four components has 2 MB.
EXPLORATION_BYTES_MAX: Final = 32 * 1024 * 1024
_API: Final = f"{ROOT}api"
# Paths of the API that a page has a use for; nothing of a pod's own, which could contain pages.
_FORWARDED_PATHS: Final = ("/api/", "/apis/", "/version")
_LOG: Final = logging.getLogger("mockkube.ui")

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SiteDependencies:
    """Dependencies of the site."""

    sessions: Sessions
    history: ClusterHistory
    forwarder: ApiForwarder
    get_authorizer: Callable[[], Authorizer]
    # Store of each resource of the page, and the resource as the present API server has it.
    get_store: Callable[[str], tuple[Store, Resource]]
    describe_cluster: Callable[[], Body]
    # Real time, also if that of the cluster is virtual.
    pace_clock: Clock
    cookie_name: str
    tls: bool


class Site:
    """HTTP handler of the page."""

    def __init__(self, dependencies: SiteDependencies) -> None:
        self._dependencies = dependencies
        self._exploration = b""
        self._handlers: Mapping[tuple[str, str], Callable[[web.BaseRequest, Session], Awaitable[web.StreamResponse]]]
        self._handlers = {
            ("GET", "session"): self._describe_session,
            ("POST", "logout"): self._log_out,
            ("GET", "stream"): self._stream,
            ("GET", "revisions"): self._read_revisions,
            ("GET", "exploration"): self._read_exploration,
            ("PUT", "exploration"): self._write_exploration,
        }

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            return await self._respond(request)
        except ApiError as error:
            return self._respond_json(error.status(), status=error.code)
        except (ConnectionError, web.HTTPException):
            raise
        except Exception as error:  # a bug must neither end the server nor show its internals
            _LOG.error("%s %s: %s", request.method, request.path, "".join(traceback.format_exception(error)))
            return self._respond_json({"message": "an unexpected error, see the server's log"}, status=500)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path in ("/", ROOT.rstrip("/")):
            return self._make_response(b"", status=308, headers={"Location": ROOT})
        if not path.startswith(ROOT):
            raise NotFound.for_path()
        name = path.removeprefix(ROOT)
        if name == "login":
            return await self._log_in(request)
        if file := load_static_files().get(name or "index.html"):
            if request.method not in ("GET", "HEAD"):
                raise MethodNotAllowed
            return self._make_response(file.content, content_type=file.media_type)
        session = self._find_session(request)
        if path.startswith(f"{_API}/"):
            return await self._forward(request, session)
        handler = self._handlers.get((request.method, name))
        if handler is None:
            raise NotFound.for_path()
        return await handler(request, session)

    def _find_session(self, request: web.BaseRequest) -> Session:
        cookie = _read_cookie(request, self._dependencies.cookie_name)
        session = self._dependencies.sessions.find(cookie, request.headers.get(KEY_HEADER, ""))
        if session is None:
            raise Unauthorized
        return session

    async def _log_in(self, request: web.BaseRequest) -> web.StreamResponse:
        """Exchange a one-time code for a session."""
        if request.method != "POST":
            raise MethodNotAllowed
        body = await _read_json(request)
        session = self._dependencies.sessions.begin(str(body.get("code", "")))
        if session is None:
            raise Unauthorized
        response = self._respond_json({"key": session.key, "user": session.user.name})
        self._set_cookie(response, session.cookie)
        return response

    def _set_cookie(self, response: web.Response, value: str, **attributes: Any) -> None:
        response.set_cookie(
            self._dependencies.cookie_name,
            value,
            path=ROOT,
            httponly=True,
            samesite="Strict",
            secure=self._dependencies.tls,
            **attributes,
        )

    async def _log_out(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        self._dependencies.sessions.end(session)
        response = self._respond_json({})
        self._set_cookie(response, "", max_age=0)
        return response

    async def _describe_session(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        return self._respond_json({"user": session.user.name, "groups": list(session.user.groups)})

    def _make_access(self, session: Session) -> RowAccess:
        return RowAccess(session.user, self._dependencies.get_authorizer)

    async def _stream(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        """Send rows until the client has enough."""
        dependencies = self._dependencies
        response = web.StreamResponse(headers={**SECURITY_HEADERS, "Content-Type": "application/x-ndjson"})
        lines = read_lines(
            dependencies.history,
            self._make_access(session),
            dependencies.describe_cluster(),
            dependencies.pace_clock,
        )
        await response.prepare(request)
        async for line in lines:
            await response.write(line)
        return response

    async def _read_revisions(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        """Return the revisions of an object that the user may read."""
        query = parse_query(request.query_string)
        resource, namespace, name = (first_value(query, key) for key in ("resource", "namespace", "name"))
        if resource not in ("nodes", "pods", "components") or not name:
            raise BadRequest("resource and name: name a node, a pod or a component")
        if not self._make_access(session).may(resource, "get", namespace, name):
            raise Forbidden(f"forbidden: {session.user.name} may not get {resource} {name}", details={})
        store, found = self._dependencies.get_store(resource)
        return self._respond_json(await read_revisions(store, found, namespace, name))

    async def _read_exploration(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        return self._make_response(self._exploration or b"null", content_type="application/json")

    async def _write_exploration(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        """Keep the result of `mockkube explore -o json` for all pages of the cluster, as long as the process runs."""
        content = await _read_body(request, EXPLORATION_BYTES_MAX)
        try:
            orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"the exploration is not JSON: {error}") from None
        self._exploration = content
        return self._respond_json({})

    async def _forward(self, request: web.BaseRequest, session: Session) -> web.StreamResponse:
        path = request.raw_path.removeprefix(_API)
        resource_path = path.partition("?")[0]
        segments = resource_path.split("/")
        if not path.startswith(_FORWARDED_PATHS) or ".." in segments or "proxy" in segments:
            raise NotFound.for_path()
        if "Upgrade" in request.headers:
            raise BadRequest("the page opens no streams to containers")
        return await self._dependencies.forwarder.forward(request, path, session.user)

    def _respond_json(self, value: Any, *, status: int = 200) -> web.Response:
        return self._make_response(orjson.dumps(value), status=status, content_type="application/json")

    def _make_response(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = "text/plain",
        headers: Mapping[str, str] | None = None,
    ) -> web.Response:
        every = {**SECURITY_HEADERS, "Content-Type": content_type, **(headers or {})}
        return web.Response(body=body, status=status, headers=every)


def _read_cookie(request: web.BaseRequest, name: str) -> str:
    try:
        morsel = SimpleCookie(request.headers.get("Cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


async def _read_body(request: web.BaseRequest, bytes_max: int) -> bytes:
    content = bytearray()
    async for chunk in request.content.iter_any():
        content += chunk
        if len(content) > bytes_max:
            raise BadRequest(f"the body has more than {bytes_max} bytes")
    return bytes(content)


async def _read_json(request: web.BaseRequest) -> Body:
    if request.content_type != "application/json":
        raise BadRequest("the body must be of the type application/json")
    try:
        value = orjson.loads(await _read_body(request, BODY_BYTES_MAX))
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise BadRequest("the body must be a JSON object")
    return value
