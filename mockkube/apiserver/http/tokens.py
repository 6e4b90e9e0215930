"""`serviceaccounts/token`: a signed statement of who a service account is, bound to a time and perhaps an object."""

from datetime import timedelta
from typing import Final

from aiohttp import web

from mockkube.api.errors import BadRequest, Conflict, Invalid, NotFound
from mockkube.api.fields import FieldError, invalid
from mockkube.api.times import render_time
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.http import bodies
from mockkube.apiserver.http.asked import Asked
from mockkube.apiserver.registry import options

SECONDS_DEFAULT: Final = 3600
SECONDS_MIN: Final = 600
SECONDS_MAX: Final = 1 << 32
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


async def create(asked: Asked) -> web.StreamResponse:
    """Answer with a token for the service account."""
    # upstream 1.36: pkg/registry/core/serviceaccount/storage/token.go
    options.write_options(asked.exchange.query, "CreateOptions")
    request = await bodies.body_of(
        asked, "io.k8s.api.authentication.v1.TokenRequest", "TokenRequest", ("authentication.k8s.io/v1",)
    )
    return asked.say(_answer(asked, request), status=201)


def _answer(asked: Asked, request: Object) -> Object:
    services, call = asked.resource.services, asked.call
    record = asked.resource.record(call.namespace, call.name)
    if record is None:
        raise NotFound.object("", "serviceaccounts", call.name)
    name = request["metadata"].get("name", call.name)
    if name != call.name:
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
    spec = request.setdefault("spec", {})
    spec["expirationSeconds"] = spec.get("expirationSeconds") or SECONDS_DEFAULT
    spec["audiences"] = spec.get("audiences") or [services.accounts.issuer]
    spec.setdefault("boundObjectRef", None)
    if errors := _complaints(spec):
        raise Invalid("authentication.k8s.io", "TokenRequest", "", errors)
    account = record.load()
    bound = _bound(asked, spec["boundObjectRef"])
    expires = services.clock.now() + timedelta(seconds=spec["expirationSeconds"])
    token = services.accounts.issue(account, spec["audiences"], services.clock.now(), expires, bound)
    metadata = {key: account["metadata"][key] for key in ("name", "namespace", "uid")}
    metadata["creationTimestamp"] = render_time(services.clock.now())
    status = {"token": token, "expirationTimestamp": render_time(expires)}
    head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
    return {**head, "metadata": metadata, "spec": spec, "status": status}


def _complaints(spec: ReadOnlyObject) -> list[FieldError]:
    seconds = spec["expirationSeconds"]
    if seconds < SECONDS_MIN:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > SECONDS_MAX:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _bound(asked: Asked, reference: ReadOnlyObject | None) -> Object | None:
    """The object the token is bound to; NotFound or Conflict when it is not there any more."""
    if not reference:
        return None
    kind, name = reference.get("kind", ""), reference.get("name", "")
    plural = _BINDABLE.get(kind)
    if plural is None or reference.get("apiVersion", "v1") != "v1":
        raise BadRequest(f"cannot bind token to object of type {reference.get('apiVersion', '')}, Kind={kind}")
    resource = asked.resource.services.find("", plural)
    assert resource is not None
    record = resource.record(asked.call.namespace, name)
    if record is None:
        raise NotFound.object("", plural, name)
    obj = record.load()
    uid = reference.get("uid", "")
    if uid and uid != obj["metadata"]["uid"]:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
        raise Conflict.object("", plural, name, why + "The object might have been deleted and then recreated")
    return obj
