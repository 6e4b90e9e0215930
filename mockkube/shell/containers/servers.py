"""Servers in containers whose answers are known: those of agnhost, and httpd.

upstream 1.36: test/images/agnhost/{liveness,netexec,test-webserver,grpc-health-checking,serve-hostname,porter}
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.environment import build_environment
from mockkube.shell.containers.interpreter import command_words
from mockkube.shell.machine.errors import Unsupported
from mockkube.shell.machine.file_system import UNKNOWN, FileError, FileSystem
from mockkube.shell.machine.machine import ContainerEnvironment
from mockkube.shell.programs.entrypoints import short_name
from mockkube.shell.programs.images import is_agnhost
from mockkube.shell.programs.program_flags import parse_known_flags

_HEALTHY_SECONDS: Final = 10.0
_REDIRECT: Final = 302
_NETEXEC_FLAGS: Final = {"http-port": "8080", "tls-cert-file": ""}
_GRPC_FLAGS: Final = {"port": "5000", "http-port": "8080", "delay-unhealthy-sec": "-1", "service": ""}
_DOCUMENT_ROOT: Final = "/usr/local/apache2/htdocs"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Status of a response, its body, and the target of a redirection."""

    status: int
    body: str = ""
    """With `UNKNOWN` where it is not known."""
    location: str = ""
    media: str = ""
    """Content-Type that the server sets; empty: it follows from the body."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """Path of a request with its query, and the seconds since the server started."""

    path: str
    seconds: float
    files: FileSystem
    port: int = 0
    method: str = "GET"


Respond = Callable[[HttpRequest], HttpResponse]


@dataclass(frozen=True, slots=True)
class Server:
    """Ports on which a container listens, and how it responds over HTTP; it runs until the container ends."""

    ports: tuple[int, ...] = ()
    respond: Respond | None = None
    tls_ports: tuple[int, ...] = ()
    """Those of the ports that speak TLS."""
    grpc_port: int = 0
    grpc_service: str = ""
    grpc_healthy_seconds: float = -1.0
    """Time after which a gRPC health check fails; negative: never."""
    changes_after: float | None = None
    """Time after which responses differ from those before."""


def find_server(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart) -> Server | None:
    """Return the server that a container runs, None if that is not known; raise ConfigError as its start would."""
    environment = build_environment(pod, container, start)
    words = command_words(container, dict(environment.variables))
    if not words:
        has_arguments = bool(container.get("command") or container.get("args"))
        return _HTTPD if short_name(container.get("image", "")) == "httpd" and not has_arguments else None
    if not is_agnhost(words[0]):
        return None
    build = _SUBCOMMANDS.get(words[1] if len(words) > 1 else "pause")
    try:
        return None if build is None else build(words[2:], environment)
    except (Unsupported, ValueError):
        return None


def _build_liveness(words: Sequence[str], environment: ContainerEnvironment) -> Server:
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


def _build_netexec(words: Sequence[str], environment: ContainerEnvironment) -> Server:
    flags = parse_known_flags(words, _NETEXEC_FLAGS)
    ports = (int(flags["http-port"]),)

    def respond(request: HttpRequest) -> HttpResponse:
        url = urlsplit(request.path)
        match url.path:
            case "/redirect":
                return _redirect(url.query)
            case "/hostname" | "/hostName":
                return HttpResponse(200, environment.hostname)
            case "/echo":
                return HttpResponse(200, parse_qs(url.query).get("msg", [""])[0])
            case "/healthz":
                return HttpResponse(200)
        return HttpResponse(200, UNKNOWN)

    return Server(ports, respond, tls_ports=ports if flags["tls-cert-file"] else ())


def _build_test_webserver(words: Sequence[str], environment: ContainerEnvironment) -> Server:
    flags = parse_known_flags(words, {"port": "80"})
    return Server((int(flags["port"]),), lambda request: _serve_file(request, ""))


def _serve_file(request: HttpRequest, root: str) -> HttpResponse:
    path = f"{root}{unquote(urlsplit(request.path).path)}"
    try:
        file = request.files.find(path.rstrip("/") or "/")
    except FileError:
        return HttpResponse(404)
    except Unsupported:
        # Whether the image has the file is not known, and what is not known responds well.
        return HttpResponse(404) if root else HttpResponse(200, UNKNOWN)
    if file is None:
        return HttpResponse(404)
    body = UNKNOWN if file.is_directory else file.text
    return HttpResponse(200, body, media="application/json" if path.endswith(".json") else "")


def _build_serve_hostname(words: Sequence[str], environment: ContainerEnvironment) -> Server:
    flags = parse_known_flags(words, {"port": "9376"})
    return Server((int(flags["port"]),), lambda request: HttpResponse(200, environment.hostname))


def _build_porter(words: Sequence[str], environment: ContainerEnvironment) -> Server:
    is_json = parse_known_flags(words, {"json-response": "false"})["json-response"] == "true"
    tcp, tls = dict[int, str](), dict[int, str]()
    for name, value in environment.variables.items():
        kind, _, port = name.rpartition("_")
        ports = {"SERVE_PORT": tcp, "SERVE_TCP_PORT": tcp, "SERVE_TLS_PORT": tls}.get(kind)
        if ports is not None and port.isdecimal():
            ports[int(port)] = value
    texts = {**tcp, **tls}

    def respond(request: HttpRequest) -> HttpResponse:
        text = texts[request.port]
        if not is_json:
            return HttpResponse(200, text)
        body = json.dumps({"Method": request.method, "Body": text}, separators=(",", ":"))
        return HttpResponse(200, body, media="application/json")

    return Server(tuple(texts), respond, tls_ports=tuple(tls))


def _build_grpc(words: Sequence[str], environment: ContainerEnvironment) -> Server:
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
    return _serve_file(replace(request, path=index), _DOCUMENT_ROOT)


_HTTPD: Final = Server((80,), _respond_httpd)
_SUBCOMMANDS: Final[Mapping[str, Callable[[Sequence[str], ContainerEnvironment], Server]]] = {
    "grpc-health-checking": _build_grpc,
    "liveness": _build_liveness,
    "netexec": _build_netexec,
    "pause": lambda words, environment: Server(),
    "porter": _build_porter,
    "serve-hostname": _build_serve_hostname,
    "test-webserver": _build_test_webserver,
}
