"""Answer requests for APIs whose objects are computed, such as metrics.k8s.io."""

from collections.abc import Sequence

from mockkube.api.errors import MethodNotAllowed, NotAcceptable, NotFound
from mockkube.api.json_objects import Object
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests.request_context import RequestContext
from mockkube.apiserver.http.requests.request_info import RequestInfo
from mockkube.apiserver.http.responses import negotiation
from mockkube.apiserver.http.responses.negotiation import Representation
from mockkube.apiserver.http.responses.rendering import validate_output_options
from mockkube.apiserver.registry import options
from mockkube.apiserver.registry.aggregated_api import ComputedApi, ComputedGroup, MetricValuesApi, MetricValuesRequest
from mockkube.apiserver.registry.options import Query


def respond(context: RequestContext, api: ComputedGroup, info: RequestInfo | None) -> web.StreamResponse:
    """Answer a request below `/apis/GROUP/VERSION`: discovery, get or list, or values of a metric."""
    if info is None:
        return _respond_discovery(context, api)
    if isinstance(api, MetricValuesApi):
        return _respond_values(context, api, info)
    assert isinstance(api, ComputedApi), "there are objects and values"
    return _respond_objects(context, api, info)


def _respond_values(context: RequestContext, api: MetricValuesApi, info: RequestInfo) -> web.StreamResponse:
    if info.verb not in ("get", "list"):
        raise MethodNotAllowed
    if info.rest or info.has_empty_segment:
        raise NotFound.for_path()
    representation = negotiation.negotiate_output(context.accept, is_list=False)
    request = make_values_request(info, context.query)
    return context.respond_json(api.read_values(request), representation=Representation(representation.media))


def make_values_request(info: RequestInfo, query: Query) -> MetricValuesRequest:
    """Return the request for metric values of a path and its query."""
    given = {"labelSelector": query.get("metricLabelSelector", ())}
    return MetricValuesRequest(
        info.resource,
        info.namespace,
        info.name,
        info.subresource,
        options.parse_list_options(query).labels,
        options.parse_list_options(given).labels,
    )


def _respond_objects(context: RequestContext, api: ComputedApi, info: RequestInfo) -> web.StreamResponse:
    resource = next((one for one in api.resources if one["name"] == info.resource), None)
    if resource is None or info.subresource or info.has_empty_segment:
        raise NotFound.for_path()
    if info.verb not in resource["verbs"]:
        raise MethodNotAllowed
    if bool(info.namespace) != resource["namespaced"] and (info.namespace or info.verb != "list"):
        raise NotFound.for_path()
    representation = negotiation.negotiate_output(context.accept, is_list=info.verb == "list")
    if info.verb == "get":
        obj = api.get_object(info.resource, info.namespace, info.name)
        if representation.transform:
            return _respond_transformed(context, api, info, [obj], representation)
        return context.respond_json(obj, representation=representation)
    list_options = options.parse_list_options(context.query)
    objects = api.list_objects(info.resource, info.namespace, list_options)
    if representation.transform:
        return _respond_transformed(context, api, info, objects, representation)
    head = {"kind": f"{resource['kind']}List", "apiVersion": _api_version(api), "metadata": {}}
    items = [{name: value for name, value in obj.items() if name not in ("kind", "apiVersion")} for obj in objects]
    return context.respond_json({**head, "items": items}, representation=representation)


def _api_version(api: ComputedGroup) -> str:
    return f"{api.spec['group']}/{api.spec['version']}"


def _respond_discovery(context: RequestContext, api: ComputedGroup) -> web.StreamResponse:
    if context.request.method != "GET":
        raise MethodNotAllowed
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": _api_version(api)}
    return context.respond_json({**head, "resources": list(api.resources)})


def _respond_transformed(
    context: RequestContext, api: ComputedApi, info: RequestInfo, objects: Sequence[Object], wanted: Representation
) -> web.StreamResponse:
    """Answer with a table or with metadata."""
    version = f"meta.k8s.io/{wanted.version}"
    partial = [{"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": one["metadata"]} for one in objects]
    is_list = info.verb == "list"
    match wanted.transform:
        case "Table":
            table = _make_table(context, api, info, objects, wanted)
            return context.respond_json(table, representation=Representation(wanted.media))
        case "PartialObjectMetadataList" if is_list:
            value: Object = {"kind": wanted.transform, "apiVersion": version, "metadata": {}, "items": partial}
        case "PartialObjectMetadata" if not is_list:
            value = partial[0]
        case _:
            shape = "a list" if is_list else "not a list"
            raise NotAcceptable(f"you requested {wanted.transform}, but the requested object is {shape}")
    return context.respond_json(value, representation=Representation(wanted.media))


def _make_table(
    context: RequestContext, api: ComputedApi, info: RequestInfo, objects: Sequence[Object], wanted: Representation
) -> Object:
    output = context.output_options()
    validate_output_options(wanted, output)
    version = f"meta.k8s.io/{wanted.version}"
    made = api.make_table(info.resource, objects)
    rows = []
    for obj, cells in zip(objects, made["rows"], strict=True):
        partial = {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}
        rows.append({"cells": cells, "object": {"Object": obj, "None": None}.get(output.include, partial)})
    columns = made["columnDefinitions"]
    return {"kind": "Table", "apiVersion": version, "metadata": {}, "columnDefinitions": columns, "rows": rows}
