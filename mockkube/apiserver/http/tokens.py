"""Handler of `serviceaccounts/token`: issue a token that expires and may be bound to an object."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from aiohttp import web

from mockkube.api.errors import BadRequest, Conflict, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.http import bodies
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.identity.service_account_tokens import Terms
from mockkube.apiserver.registry import creation, options

SECONDS_DEFAULT: Final = 3600
SECONDS_MIN: Final = 600
SECONDS_MAX: Final = 1 << 32
# Lifetime that kubelets request for pods by default. upstream keeps such a token valid for a year, for clients that
# never read it again, and warns when it is used after this time (--service-account-extend-token-expiration).
SECONDS_OF_KUBELETS: Final = 3607
EXTENDED: Final = timedelta(days=365)

_GROUP: Final = "authentication.k8s.io"
_DEFINITION: Final = "io.k8s.api.authentication.v1.TokenRequest"
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


@dataclass(frozen=True, slots=True)
class _Bound:
    """Object that a token is bound to, and for a pod its node."""

    obj: ReadOnlyObject | None = None
    node: ReadOnlyObject | None = None


async def create(asked: Asked) -> web.StreamResponse:
    """Issue a token for the service account."""
    # upstream 1.36: pkg/registry/core/serviceaccount/storage/token.go
    wanted = options.write_options(asked.exchange.query, "CreateOptions")
    request = await bodies.body_of(
        asked, _DEFINITION, "TokenRequest", (f"{_GROUP}/v1",), validation=wanted.field_validation
    )
    return asked.say(_answer(asked, request), status=201)


def _answer(asked: Asked, request: Object) -> Object:
    services, scope = asked.resource.services, asked.call
    _check_identity(asked, request["metadata"])
    record = asked.resource.record(scope.namespace, scope.name)
    if record is None:
        raise NotFound.for_object("", "serviceaccounts", scope.name)
    account, now = record.load(), services.clock.now()
    _check_uid(asked, request["metadata"].get("uid", ""), account["metadata"]["uid"])
    spec = request.setdefault("spec", {})
    spec["expirationSeconds"] = spec.get("expirationSeconds") or SECONDS_DEFAULT
    # The response shows the defaults, so they are filled into the spec itself.
    spec["audiences"] = spec.get("audiences") or [services.accounts.issuer]
    spec.setdefault("boundObjectRef", None)
    if errors := _complaints(spec):
        raise Invalid(_GROUP, "TokenRequest", "", errors)
    bound = _bound(asked, spec["boundObjectRef"])
    token = services.accounts.issue(account, _terms(asked, spec, bound, now))
    metadata = {field: account["metadata"][field] for field in ("name", "namespace", "uid")}
    metadata["creationTimestamp"] = render_time(now)
    status = {"token": token, "expirationTimestamp": render_time(now + timedelta(seconds=spec["expirationSeconds"]))}
    head = {"kind": "TokenRequest", "apiVersion": f"{_GROUP}/v1"}
    return {**head, "metadata": metadata, "spec": spec, "status": status}


def _check_identity(asked: Asked, metadata: ReadOnlyObject) -> None:
    scope = asked.call
    if metadata.get("namespace", scope.namespace) != scope.namespace:
        raise BadRequest(creation.MISPLACED)
    name = metadata.get("name") or scope.name
    if name != scope.name:
        error = invalid("metadata.name", name, "must match the service account name if specified")
        raise Invalid(_GROUP, "TokenRequest", scope.name, [error])


def _check_uid(asked: Asked, given: str, actual: str) -> None:
    """Refuse a request for a service account with another uid; before 1.34 it only causes a warning."""
    if not given or given == actual:
        return
    differ = f"the UID in the token request ({given}) does not match the UID of the service account ({actual})"
    gate = "TokenRequestServiceAccountUIDValidation"
    if asked.resource.services.caps.enabled(gate):
        raise Conflict.for_object(_GROUP, "TokenRequest", asked.call.name, differ)
    # upstream: versions before the gate issue the token and only warn.
    future = f"{differ} but {gate} is not enabled. In the future, this will return a conflict error"
    asked.call.warn([future])


def _complaints(spec: ReadOnlyObject) -> list[FieldError]:
    seconds = spec["expirationSeconds"]
    if seconds < SECONDS_MIN:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > SECONDS_MAX:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _terms(asked: Asked, spec: ReadOnlyObject, bound: _Bound, now: datetime) -> Terms:
    services = asked.resource.services
    expires, warn_after = now + timedelta(seconds=spec["expirationSeconds"]), None
    of_pod = bound.obj is not None and bound.obj["kind"] == "Pod"
    if of_pod and spec["expirationSeconds"] == SECONDS_OF_KUBELETS and spec["audiences"] == [services.accounts.issuer]:
        expires, warn_after = now + EXTENDED, expires
    return Terms(
        audiences=spec["audiences"],
        issued=now,
        expires=expires,
        # The `jti` claim, by which audit logs tell tokens apart.
        identity=services.chance.new_uid(),
        bound=bound.obj,
        node=bound.node,
        warn_after=warn_after,
    )


def _bound(asked: Asked, reference: ReadOnlyObject | None) -> _Bound:
    """Return the object that the token is bound to; raise NotFound or Conflict if it no longer exists."""
    if not reference:
        return _Bound()
    kind, name, version = reference.get("kind", ""), reference.get("name", ""), reference.get("apiVersion", "")
    plural = _BINDABLE.get(kind)
    if plural is None or "/" in version:
        shown = version if "/" in version else f"/{version}"
        raise BadRequest(f"cannot bind token to object of type {shown}, Kind={kind}")
    obj = _found(asked, plural, name)
    if obj is None:
        raise NotFound.for_object("", plural, name)
    account = asked.call.name
    if plural == "pods" and obj["spec"].get("serviceAccountName", "") != account:
        why = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
        raise BadRequest(why)
    uid, actual = reference.get("uid", ""), obj["metadata"]["uid"]
    if uid and uid != actual:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise Conflict.for_object("", kind, name, why + "The object might have been deleted and then recreated")
    return _Bound(obj, _node_of(asked, obj) if plural == "pods" else None)


def _found(asked: Asked, plural: str, name: str) -> Object | None:
    resource = asked.resource.services.find("", plural)
    assert resource is not None, f"every server has {plural}"
    record = resource.record(asked.call.namespace, name)
    return None if record is None else record.load()


def _node_of(asked: Asked, pod: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the node of a pod; only its name if the node does not exist."""
    # upstream binds to the node's name even if the Node object does not exist (any more).
    name = pod["spec"].get("nodeName")
    return (_found(asked, "nodes", name) or {"metadata": {"name": name}}) if name else None
