"""Servers in containers whose answers are known: those of agnhost, and httpd.

upstream 1.36: test/images/agnhost/{liveness,netexec,test-webserver,grpc-health-checking,serve-hostname}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from mockkube.shell.file_system import FileError, FileSystem
from mockkube.shell.images import is_agnhost
from mockkube.shell.program_flags import parse_known_flags
from mockkube.shell.syntax import Unsupported

_HEALTHY_SECONDS: Final = 10.0
_REDIRECT: Final = 302
_NETEXEC_FLAGS: Final = {"http-port": "8080", "tls-cert-file": ""}
_GRPC_FLAGS: Final = {"port": "5000", "http-port": "8080", "delay-unhealthy-sec": "-1", "service": ""}
_DOCUMENT_ROOT: Final = "/usr/local/apache2/htdocs"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Status of a response, the start of its body, and the target of a redirection."""

    status: int
    body: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Path of a request with its query, and the seconds since the server started."""

    path: str
    seconds: float
    files: FileSystem


Respond = Callable[[HttpRequest], HttpResponse]


@dataclass(frozen=True, slots=True)
class Server:
    """Ports on which a container listens, and how it responds over HTTP; it runs until the container ends."""

    ports: tuple[int, ...] = ()
    respond: Respond | None = None
    is_tls: bool = False
    grpc_port: int = 0
    grpc_service: str = ""
    grpc_healthy_seconds: float = -1.0
    """Time after which a gRPC health check fails; negative: never."""
    changes_after: float | None = None
    """Time after which responses differ from those before."""


def find_server(words: Sequence[str], image: str) -> Server | None:
    """Return the server that a command line starts, or that a known image is; None if that is not known."""
    if not words:
        return _HTTPD if image == "httpd" else None
    if not is_agnhost(words[0]):
        return None
    name = words[1] if len(words) > 1 else "pause"
    build = _SUBCOMMANDS.get(name)
    try:
        return None if build is None else build(words[2:])
    except (Unsupported, ValueError):
        return None


def _build_liveness(words: Sequence[str]) -> Server:
    return Server((8080,), _respond_liveness, changes_after=_HEALTHY_SECONDS)


def _respond_liveness(request: HttpRequest) -> HttpResponse:
    url = urlsplit(request.path)
    match url.path:
        case "/healthz":
            # It is alive for ten seconds.
            healthy = request.seconds <= _HEALTHY_SECONDS
            return HttpResponse(200, "ok") if healthy else HttpResponse(500, f"error: {request.seconds:.9f}")
        case "/started":
            return HttpResponse(200)
        case "/redirect":
            return _redirect(url.query)
    return HttpResponse(404)


def _redirect(query: str) -> HttpResponse:
    location = parse_qs(query).get("loc", [""])[0]
    return HttpResponse(_REDIRECT, location=unquote(location))


def _build_netexec(words: Sequence[str]) -> Server:
    flags = parse_known_flags(words, _NETEXEC_FLAGS)
    return Server((int(flags["http-port"]),), _respond_netexec, is_tls=bool(flags["tls-cert-file"]))


def _respond_netexec(request: HttpRequest) -> HttpResponse:
    url = urlsplit(request.path)
    if url.path == "/redirect":
        return _redirect(url.query)
    return HttpResponse(200)


def _build_test_webserver(words: Sequence[str]) -> Server:
    flags = parse_known_flags(words, {"port": "80"})
    return Server((int(flags["port"]),), lambda request: _serve_file(request, ""))


def _serve_file(request: HttpRequest, root: str) -> HttpResponse:
    path = f"{root}{unquote(urlsplit(request.path).path)}"
    try:
        exists = path == "/" or request.files.find(path.rstrip("/")) is not None
    except FileError:
        exists = False
    except Unsupported:
        # Whether the image has the file is not known, and what is not known responds well.
        exists = not root
    return HttpResponse(200 if exists else 404)


def _build_serve_hostname(words: Sequence[str]) -> Server:
    flags = parse_known_flags(words, {"port": "9376"})
    return Server((int(flags["port"]),), lambda request: HttpResponse(200))


def _build_grpc(words: Sequence[str]) -> Server:
    flags = parse_known_flags(words, _GRPC_FLAGS)
    seconds, port = float(flags["delay-unhealthy-sec"]), int(flags["port"])
    return Server(
        (port, int(flags["http-port"])),
        lambda request: HttpResponse(200),
        grpc_port=port,
        grpc_service=flags["service"],
        grpc_healthy_seconds=seconds,
        changes_after=seconds if seconds >= 0 else None,
    )


def _respond_httpd(request: HttpRequest) -> HttpResponse:
    path = urlsplit(request.path).path
    index = f"{path}index.html" if path.endswith("/") else path
    return _serve_file(HttpRequest(index, request.seconds, request.files), _DOCUMENT_ROOT)


_HTTPD: Final = Server((80,), _respond_httpd)
_SUBCOMMANDS: Final[Mapping[str, Callable[[Sequence[str]], Server]]] = {
    "grpc-health-checking": _build_grpc,
    "liveness": _build_liveness,
    "netexec": _build_netexec,
    "pause": lambda words: Server(),
    "serve-hostname": _build_serve_hostname,
    "test-webserver": _build_test_webserver,
}
