"""ResourceQuota: charge new objects to the quotas of their namespace; reject what exceeds them."""

from functools import partial
from typing import Final

from mockkube.api import quota_usage
from mockkube.api.errors import Conflict, NotFound
from mockkube.api.pod_amounts import Quantities, add_quantities, parse_resource_list
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.identity.user import MASTERS, User
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource

# Attempts to charge a quota against concurrent writes; then the last conflict is the response.
TRIES_MAX: Final = 100
_UNCOUNTED: Final = (("", "events"), ("events.k8s.io", "events"), ("", "bindings"))
_APISERVER: Final = User("system:apiserver", groups=(MASTERS,))
_OPTIONS: Final = WriteOptions(field_manager="kube-apiserver")


class ResourceQuota(Plugin):
    """Charges new objects, and updates that change the usage, to the status of quotas."""

    # upstream 1.36: apiserver/pkg/admission/plugin/resourcequota/controller.go
    name = "ResourceQuota"

    async def settle(self, request: Request) -> None:
        """Reject what exceeds a quota, else charge it. A dry run is checked, not charged."""
        if not request.call.namespace or not _counted(request):
            return
        resource = request.find("", "resourcequotas")
        records = resource.collection.range(resource.prefix(request.call.namespace))
        # All quotas are checked before the first is charged, so that a rejected request charges none.
        charges = {record.name: _charge(request, record.load()) for record in records if _is_readable(resource, record)}
        if not request.dry_run:
            for name, charge in charges.items():
                if charge:
                    await _book(request, name)


def _is_readable(resource: Resource, record: Record) -> bool:
    """Return whether a stored quota can be parsed; others limit nothing, as upstream's informers do not have them."""
    bad, read_it = resource.collection.bad, partial(_read, record)
    return bad.attempt("ResourceQuota", "resourcequotas", record.place, read_it, otherwise=False)


def _read(record: Record) -> bool:
    quota = record.load()
    spec, status = quota.get("spec") or {}, quota.get("status") or {}
    for amounts in (spec.get("hard"), status.get("hard"), status.get("used")):
        parse_resource_list(amounts)
    scopes = [one["scopeName"] for one in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()]
    # Scopes are looked up in tables later, which fails for unhashable values.
    hash((*scopes, *(spec.get("scopes") or ())))
    return True


def _counted(request: Request) -> bool:
    """Return whether the request may change the usage of a quota."""
    storage = request.resource.home
    kind, subresource = (storage.group, storage.plural), request.call.subresource
    creates, updates = request.operation is Operation.CREATE, request.operation is Operation.UPDATE
    if kind in _UNCOUNTED:
        return False
    if kind == ("", "pods"):
        return (creates and not subresource) or (updates and _recounts(request))
    if kind == ("", "services"):
        return (creates or updates) and not subresource
    if kind == ("", "persistentvolumeclaims"):
        return (creates and not subresource) or (updates and subresource in ("", "status"))
    return creates and not subresource


def _recounts(request: Request) -> bool:
    assert request.old is not None
    # Resizing changes requests; other updates only matter if the pod starts or stops to be terminating.
    if request.call.subresource == "resize":
        return True
    changed = quota_usage.is_terminating(request.old) != quota_usage.is_terminating(request.given)
    return not request.call.subresource and changed


def _charge(request: Request, quota: ReadOnlyObject) -> Quantities:
    """Return what the request adds to the usage of a quota; raise Forbidden if that is too much."""
    if not _applies(request, quota, request.given):
        return {}
    storage = request.resource.home
    name, status = quota["metadata"]["name"], quota.get("status") or {}
    hard, used = parse_resource_list(status.get("hard")), parse_resource_list(status.get("used"))
    names = quota_usage.matching_resources(storage.group, storage.plural, hard)
    _check_stated(request, name, names)
    unknown = sorted(one for one in names if one not in used)
    if unknown:
        raise refuse(request, f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")
    added = {one: amount for one, amount in _added(request, quota).items() if one in hard and amount.sign > 0}
    exceeded = [one for one in sorted(added) if (used[one] + added[one] if one in used else added[one]) > hard[one]]
    # A volume that turned out larger than requested is a fact, which status updates report.
    if exceeded and request.call.subresource != "status":
        sides = (("requested", added), ("used", used), ("limited", hard))
        texts = [f"{title}: {','.join(f'{one}={of[one]}' for one in exceeded)}" for title, of in sides]
        raise refuse(request, f"exceeded quota: {name}, {', '.join(texts)}")
    return added


def _applies(request: Request, quota: ReadOnlyObject, obj: ReadOnlyObject) -> bool:
    """Return whether the quota tracks objects of this kind, and this one is in its scopes."""
    storage = request.resource.home
    hard = (quota.get("status") or {}).get("hard") or {}
    if not quota_usage.matching_resources(storage.group, storage.plural, hard):
        return False
    spec, caps = quota.get("spec") or {}, storage.services.caps
    requirements = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    requirements += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(quota_usage.matches_scope(one, storage.group, storage.plural, obj, caps) for one in requirements)


def _check_stated(request: Request, quota: str, names: list[str]) -> None:
    storage = request.resource.home
    if (storage.group, storage.plural) == ("", "pods"):
        why = quota_usage.find_missing_resources(request.given, names, storage.services.caps)
        if why:
            raise refuse(request, f"failed quota: {quota}: {why}")


def _added(request: Request, quota: ReadOnlyObject) -> Quantities:
    """Return the usage of the object, minus what this quota counted for its old state."""
    storage = request.resource.home
    moment = quota_usage.UsageContext(storage.services.caps, storage.services.clock.now())
    now = quota_usage.calculate_usage(storage.group, storage.plural, request.given, moment)
    if request.old is None or not _applies(request, quota, request.old):
        return now
    before = quota_usage.calculate_usage(storage.group, storage.plural, request.old, moment)
    return {name: amount - before[name] if name in before else amount for name, amount in now.items()}


async def _book(request: Request, name: str) -> None:
    """Add the usage of the request to the status of a quota; check again if the quota changed meanwhile."""
    resource = request.find("", "resourcequotas")
    scope = Call(_APISERVER, request.call.namespace, name, "status", user_agent="kube-apiserver")

    def book(quota: Object) -> Object:
        status = quota.get("status") or {}
        used = parse_resource_list(status.get("used"))
        add_quantities(used, _charge(request, quota))
        return {**quota, "status": {**status, "used": {one: str(amount) for one, amount in used.items()}}}

    for remaining in reversed(range(TRIES_MAX)):
        try:
            await updating.update(resource, scope, book, _OPTIONS)
        except NotFound:
            return  # a quota that is gone limits nothing
        except Conflict:
            if not remaining:
                raise
        else:
            return
