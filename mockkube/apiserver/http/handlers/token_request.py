"""Handler of `serviceaccounts/token`: issue a token that expires and may be bound to an object."""

from datetime import datetime, timedelta
from typing import Final

from mockkube.api.errors import BadRequest, Conflict, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.apiserver.http import web
from mockkube.apiserver.http.requests import request_bodies
from mockkube.apiserver.http.requests.resource_request import ResourceRequest
from mockkube.apiserver.identity.service_account_tokens import TokenTerms
from mockkube.apiserver.registry import creation, options
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation, admit_unstored
from mockkube.lazy_dataclasses import dataclass

EXPIRATION_SECONDS_DEFAULT: Final = 3600
EXPIRATION_SECONDS_MIN: Final = 600
EXPIRATION_SECONDS_MAX: Final = 1 << 32
# Lifetime that kubelets request for pods by default. upstream keeps such a token valid for a year, for clients that
# never read it again, and warns when it is used after this time (--service-account-extend-token-expiration).
KUBELET_SECONDS: Final = 3607
EXTENDED_LIFETIME: Final = timedelta(days=365)

_GROUP: Final = "authentication.k8s.io"
_DEFINITION: Final = "io.k8s.api.authentication.v1.TokenRequest"
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


@dataclass(frozen=True, slots=True)
class _BoundObject:
    """Object that a token is bound to, and for a pod its node."""

    obj: ReadOnlyObject | None = None
    node: ReadOnlyObject | None = None


async def create_token(resource_request: ResourceRequest) -> web.StreamResponse:
    """Issue a token for the service account."""
    # upstream 1.36: pkg/registry/core/serviceaccount/storage/token.go
    write_options = options.parse_write_options(resource_request.context.query, "CreateOptions")
    request = await request_bodies.read_body_as(
        resource_request, _DEFINITION, "TokenRequest", (f"{_GROUP}/v1",), validation=write_options.field_validation
    )
    # The service account may have been created a moment ago, through another server.
    resource, scope = resource_request.resource, resource_request.scope
    await resource.dependencies.watch_cache.wait_until_fresh()
    _check_identity(resource_request, request["metadata"])
    admitted = await admit_unstored(
        AdmissionAttributes(Operation.CREATE, resource, scope, request, None, dry_run=write_options.dry_run)
    )
    # Webhooks may have changed it.
    request = request_bodies.decode_as(resource_request, _DEFINITION, admitted)
    return resource_request.respond_unstored(_issue_token(resource_request, request), status=201)


def _issue_token(resource_request: ResourceRequest, request: Object) -> Object:
    dependencies, scope = resource_request.resource.dependencies, resource_request.scope
    cached = resource_request.resource.get_cached(scope.namespace, scope.name)
    if cached is None:
        raise NotFound.for_object("", "serviceaccounts", scope.name)
    account, now = cached.load(), dependencies.clock.now()
    _check_uid(resource_request, request["metadata"].get("uid", ""), account["metadata"]["uid"])
    spec = request.setdefault("spec", {})
    spec["expirationSeconds"] = spec.get("expirationSeconds") or EXPIRATION_SECONDS_DEFAULT
    # The response shows the defaults, so they are filled into the spec itself.
    spec["audiences"] = spec.get("audiences") or [*dependencies.token_issuer.audiences]
    spec.setdefault("boundObjectRef", None)
    if errors := _validate_expiration(spec):
        raise Invalid(_GROUP, "TokenRequest", "", errors)
    bound = _find_bound_object(resource_request, spec["boundObjectRef"])
    token = dependencies.token_issuer.issue(account, _token_terms(resource_request, spec, bound, now))
    metadata = {field: account["metadata"][field] for field in ("name", "namespace", "uid")}
    metadata["creationTimestamp"] = render_time(now)
    status = {"token": token, "expirationTimestamp": render_time(now + timedelta(seconds=spec["expirationSeconds"]))}
    head = {"kind": "TokenRequest", "apiVersion": f"{_GROUP}/v1"}
    return {**head, "metadata": metadata, "spec": spec, "status": status}


def _check_identity(request: ResourceRequest, metadata: ReadOnlyObject) -> None:
    scope = request.scope
    if metadata.get("namespace", scope.namespace) != scope.namespace:
        raise BadRequest(creation.NAMESPACE_MISMATCH)
    name = metadata.get("name") or scope.name
    if name != scope.name:
        error = invalid("metadata.name", name, "must match the service account name if specified")
        raise Invalid(_GROUP, "TokenRequest", scope.name, [error])


def _check_uid(request: ResourceRequest, given: str, actual: str) -> None:
    """Refuse a request for a service account with another uid; before 1.34 it only causes a warning."""
    if not given or given == actual:
        return
    differ = f"the UID in the token request ({given}) does not match the UID of the service account ({actual})"
    gate = "TokenRequestServiceAccountUIDValidation"
    if request.resource.dependencies.capabilities.enabled(gate):
        raise Conflict.for_object(_GROUP, "TokenRequest", request.scope.name, differ)
    # upstream: versions before the gate issue the token and only warn.
    future = f"{differ} but {gate} is not enabled. In the future, this will return a conflict error"
    request.scope.warn([future])


def _validate_expiration(spec: ReadOnlyObject) -> list[FieldError]:
    seconds = spec["expirationSeconds"]
    if seconds < EXPIRATION_SECONDS_MIN:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > EXPIRATION_SECONDS_MAX:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _token_terms(request: ResourceRequest, spec: ReadOnlyObject, bound: _BoundObject, now: datetime) -> TokenTerms:
    dependencies = request.resource.dependencies
    expires, warn_after = now + timedelta(seconds=spec["expirationSeconds"]), None
    of_pod = bound.obj is not None and bound.obj["kind"] == "Pod"
    if (
        of_pod
        and spec["expirationSeconds"] == KUBELET_SECONDS
        and spec["audiences"] == [*dependencies.token_issuer.audiences]
    ):
        expires, warn_after = now + EXTENDED_LIFETIME, expires
    return TokenTerms(
        audiences=spec["audiences"],
        issued_at=now,
        expires_at=expires,
        # The `jti` claim, by which audit logs tell tokens apart.
        token_id=dependencies.random.new_uid(),
        bound_object=bound.obj,
        node=bound.node,
        warn_after=warn_after,
    )


def _find_bound_object(request: ResourceRequest, reference: ReadOnlyObject | None) -> _BoundObject:
    """Return the object that the token is bound to; raise NotFound or Conflict if it no longer exists."""
    if not reference:
        return _BoundObject()
    kind, name, version = reference.get("kind", ""), reference.get("name", ""), reference.get("apiVersion", "")
    plural = _BINDABLE.get(kind)
    if plural is None or "/" in version:
        shown = version if "/" in version else f"/{version}"
        raise BadRequest(f"cannot bind token to object of type {shown}, Kind={kind}")
    obj = _find_object(request, plural, name)
    if obj is None:
        raise NotFound.for_object("", plural, name)
    account = request.scope.name
    if plural == "pods" and obj["spec"].get("serviceAccountName", "") != account:
        why = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
        raise BadRequest(why)
    uid, actual = reference.get("uid", ""), obj["metadata"]["uid"]
    if uid and uid != actual:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise Conflict.for_object("", kind, name, why + "The object might have been deleted and then recreated")
    return _BoundObject(obj, _find_node(request, obj) if plural == "pods" else None)


def _find_object(request: ResourceRequest, plural: str, name: str) -> Object | None:
    resource = request.resource.dependencies.find_storage_resource("", plural)
    assert resource is not None, f"every server has {plural}"
    cached = resource.get_cached(request.scope.namespace, name)
    return None if cached is None else cached.load()


def _find_node(request: ResourceRequest, pod: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the node of a pod; only its name if the node does not exist."""
    # upstream binds to the node's name even if the Node object does not exist (any more).
    name = pod["spec"].get("nodeName")
    return (_find_object(request, "nodes", name) or {"metadata": {"name": name}}) if name else None
