"""Requests that connect to a pod: exec, attach and port-forward, and logs that stream."""

# upstream 1.36: pkg/registry/core/pod/rest/subresources.go, log.go, apiserver/pkg/util/proxy
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from mockkube.api.errors import BadRequest, Forbidden, Internal
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.http import web
from mockkube.apiserver.http.filters.authorization import get_resource_attributes
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.http.streaming import port_forward, spdy_streams, websocket_streams
from mockkube.apiserver.http.streaming.channels import (
    LEGACY_PROTOCOLS,
    V5,
    V5_PROTOCOL,
    ChannelProtocol,
    choose_protocol,
    is_tunnel,
)
from mockkube.apiserver.http.streaming.remote_command import AttachSession, ExecSession
from mockkube.apiserver.http.streaming.streams import (
    WRITE_SECONDS_MAX,
    ClientGone,
    RemoteCommandStreams,
    StreamOptions,
    exit_status,
    runtime_error_status,
    success_status,
)
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation, admit_unstored
from mockkube.apiserver.registry.options import first_value, parse_bool, parse_int
from mockkube.apiserver.registry.subresources import logs
from mockkube.apiserver.registry.subresources.container_processes import ExecutableNotFound, start_process
from mockkube.apiserver.registry.subresources.running_containers import (
    ConnectTarget,
    KubeletError,
    RunningContainer,
    check_kubelet,
    find_target,
    has_running_container,
    require_running_container,
)

_CREATE_GATE: Final = "AuthorizePodWebsocketUpgradeCreatePermission"
_PLAIN_TEXT: Final = "text/plain"
_STREAMS: Final = ("stdin", "stdout", "stderr", "tty")
_OPTIONS_KINDS: Final = {
    "exec": "PodExecOptions",
    "attach": "PodAttachOptions",
    "portforward": "PodPortForwardOptions",
}
RunSession = Callable[[RemoteCommandStreams, RunningContainer, StreamOptions], Awaitable[None]]


async def exec_command(request: ResourceRequest) -> web.StreamResponse:
    """Run a command in a container."""
    options = await _admit(request)
    target = await find_target(request.resource, request.scope, options.get("container", ""))
    not_found = f'container not found ("{target.container}")'
    words = tuple(options.get("command") or ())
    return await _serve_remote_command(request, target, options, not_found, _make_exec(request, words))


async def attach(request: ResourceRequest) -> web.StreamResponse:
    """Attach to the command of a container."""
    options = await _admit(request)
    target = await find_target(request.resource, request.scope, options.get("container", ""))
    metadata = target.pod["metadata"]
    not_found = f"container {target.container} not found in pod {metadata['name']}_{metadata['namespace']}"
    return await _serve_remote_command(request, target, options, not_found, _make_attach(request))


async def forward_ports(request: ResourceRequest) -> web.StreamResponse:
    """Answer connections to ports of a pod."""
    options = await _admit(request)
    target = await find_target(request.resource, request.scope, None)
    context = request.context
    _require_upgrade(context)
    requested = websocket_streams.get_requested_protocols(context.request)
    tunnels = [name for name in requested if is_tunnel(name)]
    metadata = target.pod["metadata"]
    try:
        check_kubelet(request.resource, target.node)
        if not has_running_container(target.pod):
            raise KubeletError(f'pod not found ("{metadata["name"]}_{metadata["namespace"]}")')
    except KubeletError as error:
        return websocket_streams.refuse_upgrade(context, error.message, status=error.code)
    ports = port_forward.PortForwarder(target.pod)
    if websocket_streams.is_websocket_upgrade(context.request):
        if tunnels:
            return await _end_with_server(context, port_forward.serve_tunnel(context, tunnels, ports))
        return await _end_with_server(context, port_forward.serve_websocket(context, options.get("ports") or (), ports))
    return await _end_with_server(context, port_forward.serve_spdy(context, ports))


async def read_log(request: ResourceRequest) -> web.StreamResponse:
    """Answer with the log of a container, until the container ends if the client follows it."""
    context = request.context
    log = await logs.open_log(request.resource, request.scope, context.query)
    if websocket_streams.is_websocket_upgrade(context.request):
        return await _end_with_server(context, _send_log_to_websocket(context, log))
    if log is None:
        return context.respond(b"", media=_PLAIN_TEXT)
    if not log.is_followed:
        return context.respond(b"".join([part async for part in log.read()]), media=_PLAIN_TEXT)
    return await _end_with_server(context, _stream_log(context, log))


async def _admit(request: ResourceRequest) -> ReadOnlyObject:
    """Return the options of a request that admission and the authorizer allow."""
    context, resource, scope = request.context, request.resource, request.scope
    if "dryRun" in context.query:
        raise BadRequest("dryRun is not supported")
    dependencies = resource.dependencies
    connection = AdmissionAttributes(Operation.CONNECT, resource, scope, _make_options(request), None)
    connect_options = await admit_unstored(connection)
    if dependencies.capabilities.enabled(_CREATE_GATE) and request.info.verb != "create":
        # A WebSocket opens with GET, which is the verb get; policies were written for POST, which is create.
        create_attributes = get_resource_attributes(context.user, request.info)._replace(verb="create")
        decision = dependencies.authorize(create_attributes)
        if not decision.allowed:
            raise Forbidden.for_object(resource.group, resource.plural, scope.name, decision.reason)
    return connect_options


def _make_options(request: ResourceRequest) -> Object:
    """Return the options of the request as the object that admission sees."""
    query, sub = request.context.query, request.scope.subresource
    options: Object = {"kind": _OPTIONS_KINDS[sub], "apiVersion": "v1"}
    if sub == "portforward":
        ports = _parse_ports(query.get("ports", ()))
        return {**options, "ports": ports} if ports else options
    options |= {name: True for name in _STREAMS if parse_bool(query, name)}
    if container := first_value(query, "container"):
        options["container"] = container
    if sub == "exec":
        options["command"] = list(query.get("command", ()))
    return options


def _parse_ports(values: Sequence[str]) -> list[int]:
    """Return the ports of a query; raise BadRequest for one that is no number."""
    return [parse_int(text) for value in values for text in value.split(",")]


def _require_upgrade(context: RequestContext) -> None:
    if not websocket_streams.is_upgrade(context.request):
        raise BadRequest("Upgrade request required")


def _parse_stream_options(options: ReadOnlyObject) -> StreamOptions:
    """Return the streams of a request."""
    stdin, stdout, stderr, tty = (options.get(name) is True for name in _STREAMS)
    return StreamOptions(stdin, stdout, stderr and not tty, tty)


def _check_streams(options: StreamOptions) -> None:
    """Raise KubeletError if a request names no stream."""
    if not (options.stdin or options.stdout or options.stderr):
        raise KubeletError("you must specify at least 1 of stdin, stdout, stderr", code=400)


async def _serve_remote_command(
    request: ResourceRequest, target: ConnectTarget, given: ReadOnlyObject, not_found: str, run: RunSession
) -> web.StreamResponse:
    """Upgrade the connection and run a session on it."""
    context = request.context
    _require_upgrade(context)
    requested = websocket_streams.get_requested_protocols(context.request)
    is_websocket = websocket_streams.is_websocket_upgrade(context.request)
    options = _parse_stream_options(given)

    def find_container() -> RunningContainer:
        check_kubelet(request.resource, target.node)
        _check_streams(options)
        return require_running_container(target.pod, target.container, not_found)

    if is_websocket and V5 in requested:
        # The API server upgrades before it asks the kubelet, so an error of the kubelet arrives on the error channel.
        return await _end_with_server(context, _serve_translated(context, find_container, options, run))
    try:
        container = find_container()
    except KubeletError as error:
        return websocket_streams.refuse_upgrade(context, error.message, status=error.code)
    if not is_websocket:
        return await _end_with_server(context, spdy_streams.serve_remote_command(context, options, container, run))
    protocol = choose_protocol(requested, LEGACY_PROTOCOLS)
    if protocol is None:
        return websocket_streams.refuse_protocols(context, [*LEGACY_PROTOCOLS])
    return await _end_with_server(context, _serve_websocket(context, protocol, container, options, run))


async def _serve_translated(
    context: RequestContext, find_container: Callable[[], RunningContainer], options: StreamOptions, run: RunSession
) -> web.StreamResponse:
    websocket = await websocket_streams.open_websocket(context, V5)
    streams = websocket_streams.WebSocketStreams(websocket, V5_PROTOCOL, options)
    try:
        await streams.greet()
        try:
            container = find_container()
        except KubeletError as error:
            await streams.write_status(Internal(f"unable to upgrade connection: {error.message}").status())
        else:
            await run(streams, container, options)
        await streams.close()
    except ClientGone:
        websocket.force_close()
    return websocket


async def _serve_websocket(
    context: RequestContext,
    protocol: ChannelProtocol,
    container: RunningContainer,
    options: StreamOptions,
    run: RunSession,
) -> web.StreamResponse:
    websocket = await websocket_streams.open_websocket(context, protocol.name)
    streams = websocket_streams.WebSocketStreams(websocket, protocol, options)
    try:
        await streams.greet()
        await run(streams, container, options)
        await streams.close()
    except ClientGone:
        websocket.force_close()
    return websocket


def _make_exec(request: ResourceRequest, words: Sequence[str]) -> RunSession:
    async def run(streams: RemoteCommandStreams, container: RunningContainer, options: StreamOptions) -> None:
        try:
            process = start_process(request.resource, container, words, tty=options.tty)
        except ExecutableNotFound as error:
            message = f"error executing command in container: {error}"
            await streams.write_status(runtime_error_status(message, is_translated=streams.is_translated))
            return
        code = await ExecSession(request.resource, container, process, streams, options).run()
        await streams.write_status(
            success_status() if code == 0 else exit_status(code, words, is_translated=streams.is_translated)
        )

    return run


def _make_attach(request: ResourceRequest) -> RunSession:
    async def run(streams: RemoteCommandStreams, container: RunningContainer, options: StreamOptions) -> None:
        # A container has a terminal or has none, whatever the client that attaches to it asks for.
        options = replace(options, tty=bool(container.spec.get("tty")))
        await AttachSession(request.resource, container, streams, options).run()
        await streams.write_status(success_status())

    return run


async def _end_with_server(context: RequestContext, serving: Awaitable[web.StreamResponse]) -> web.StreamResponse:
    """Return the response of a stream; the server's stop ends it as if the client had closed it."""
    response: web.StreamResponse | None = None
    try:
        async with asyncio.timeout(None) as deadline:
            with context.open_watches.track(deadline):
                response = await serving
    except TimeoutError:
        transport = context.request.transport
        if transport is not None:
            transport.close()
    return web.Response() if response is None else response


async def _stream_log(context: RequestContext, log: logs.PodLog) -> web.StreamResponse:
    headers = {"Content-Type": _PLAIN_TEXT, "Cache-Control": "no-cache, private", "Audit-Id": context.audit_id}
    response = web.StreamResponse(headers=headers)
    response.enable_chunked_encoding()
    await context.prepare(response)
    async with aclosing(log.read()) as parts:
        async for part in parts:
            if not part:
                continue
            try:
                async with asyncio.timeout(WRITE_SECONDS_MAX):
                    await response.write(part)
            except (ConnectionError, TimeoutError):
                response.force_close()
                return response
    return response


async def _send_log_to_websocket(context: RequestContext, log: logs.PodLog | None) -> web.StreamResponse:
    supported = websocket_streams.BINARY_PROTOCOLS
    requested = websocket_streams.get_requested_protocols(context.request) or [""]
    protocol = next((name for name in requested if name in supported), None)
    if protocol is None:
        return websocket_streams.refuse_protocols(context, [*supported])
    websocket = await websocket_streams.open_websocket(context, protocol)
    output = websocket_streams.WebSocketBytes(websocket, is_base64=supported[protocol])
    sending = asyncio.ensure_future(_send_log_parts(output, log))
    closed = asyncio.ensure_future(output.wait_closed())
    try:
        await asyncio.wait((sending, closed), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, closed):
            task.cancel()
        await asyncio.gather(sending, closed, return_exceptions=True)
    await websocket_streams.close_websocket(websocket)
    return websocket


async def _send_log_parts(output: websocket_streams.WebSocketBytes, log: logs.PodLog | None) -> None:
    try:
        # upstream sends an empty message first: the client learns that the log begins.
        await output.write(b"")
        if log is not None:
            async with aclosing(log.read()) as parts:
                async for part in parts:
                    if part:
                        await output.write(part)
    except ClientGone:
        return
