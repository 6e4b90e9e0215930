"""ResourceQuota: what is made in a namespace is counted against its quotas, and refused when they are used up."""

from functools import partial
from typing import Final

from mockkube.api import quota_usage
from mockkube.api.errors import Conflict, NotFound
from mockkube.api.pod_amounts import Amounts, add, read
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.identity.user import MASTERS, User
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.admission import Operation, Plugin, Request
from mockkube.apiserver.registry.cache import Record
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import Call, Resource

TRIES_MAX: Final = 100
"""How often a usage is written against concurrent requests; then the last conflict is the answer."""
_UNCOUNTED: Final = (("", "events"), ("events.k8s.io", "events"), ("", "bindings"))
_APISERVER: Final = User("system:apiserver", groups=(MASTERS,))
_OPTIONS: Final = WriteOptions(field_manager="kube-apiserver")


class ResourceQuota(Plugin):
    """Counts new objects, and changes of what objects count for, in the status of the quotas."""

    # upstream 1.36: apiserver/pkg/admission/plugin/resourcequota/controller.go
    name = "ResourceQuota"

    async def settle(self, request: Request) -> None:
        """Refuse what exceeds a quota; add the rest to what is used. A dry run is judged, not counted."""
        if not request.call.namespace or not _counted(request):
            return
        resource = request.find("", "resourcequotas")
        records = resource.collection.range(resource.prefix(request.call.namespace))
        charges = {record.name: _charge(request, record.load()) for record in records if _is_readable(resource, record)}
        if not request.dry_run:
            for name, charge in charges.items():
                if charge:
                    await _book(request, name)


def _is_readable(resource: Resource, record: Record) -> bool:
    """Whether a stored quota can be read; one that cannot limits nothing, as upstream's informers do not have it."""
    bad, read_it = resource.collection.bad, partial(_read, record)
    return bad.attempt("ResourceQuota", "resourcequotas", record.place, read_it, otherwise=False)


def _read(record: Record) -> bool:
    quota = record.load()
    spec, status = quota.get("spec") or {}, quota.get("status") or {}
    for amounts in (spec.get("hard"), status.get("hard"), status.get("used")):
        read(amounts)
    scopes = [one["scopeName"] for one in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()]
    hash((*scopes, *(spec.get("scopes") or ())))
    return True


def _counted(request: Request) -> bool:
    """Whether the request may change what a quota counts."""
    home = request.resource.home
    kind, subresource = (home.group, home.plural), request.call.subresource
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
    if request.call.subresource == "resize":
        return True
    changed = quota_usage.terminating(request.old) != quota_usage.terminating(request.given)
    return not request.call.subresource and changed


def _charge(request: Request, quota: ReadOnlyObject) -> Amounts:
    """What the request adds to what this quota counts; Forbidden when that is too much."""
    if not _applies(request, quota, request.given):
        return {}
    home = request.resource.home
    name, status = quota["metadata"]["name"], quota.get("status") or {}
    hard, used = read(status.get("hard")), read(status.get("used"))
    names = quota_usage.tracked(home.group, home.plural, hard)
    _check_stated(request, name, names)
    unknown = sorted(one for one in names if one not in used)
    if unknown:
        raise refuse(request, f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")
    added = {one: amount for one, amount in _added(request, quota).items() if one in hard and amount.sign > 0}
    exceeded = [one for one in sorted(added) if (used[one] + added[one] if one in used else added[one]) > hard[one]]
    if exceeded and request.call.subresource != "status":
        sides = (("requested", added), ("used", used), ("limited", hard))
        texts = [f"{title}: {','.join(f'{one}={of[one]}' for one in exceeded)}" for title, of in sides]
        raise refuse(request, f"exceeded quota: {name}, {', '.join(texts)}")
    return added


def _applies(request: Request, quota: ReadOnlyObject, obj: ReadOnlyObject) -> bool:
    """Whether the quota counts such an object at all, and this one is within its scopes."""
    home = request.resource.home
    hard = (quota.get("status") or {}).get("hard") or {}
    if not quota_usage.tracked(home.group, home.plural, hard):
        return False
    spec, caps = quota.get("spec") or {}, home.services.caps
    requirements = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    requirements += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(quota_usage.in_scope(one, home.group, home.plural, obj, caps) for one in requirements)


def _check_stated(request: Request, quota: str, names: list[str]) -> None:
    home = request.resource.home
    if (home.group, home.plural) == ("", "pods"):
        why = quota_usage.missing(request.given, names, home.services.caps)
        if why:
            raise refuse(request, f"failed quota: {quota}: {why}")


def _added(request: Request, quota: ReadOnlyObject) -> Amounts:
    """What the object counts for, beyond what it did before as far as this quota counted that."""
    home = request.resource.home
    moment = quota_usage.Moment(home.services.caps, home.services.clock.now())
    now = quota_usage.usage(home.group, home.plural, request.given, moment)
    if request.old is None or not _applies(request, quota, request.old):
        return now
    before = quota_usage.usage(home.group, home.plural, request.old, moment)
    return {name: amount - before[name] if name in before else amount for name, amount in now.items()}


async def _book(request: Request, name: str) -> None:
    """Add what the request uses to the status of a quota, judged again if the quota has changed meanwhile."""
    resource = request.find("", "resourcequotas")
    call = Call(_APISERVER, request.call.namespace, name, "status", user_agent="kube-apiserver")

    def book(quota: Object) -> Object:
        status = quota.get("status") or {}
        used = read(status.get("used"))
        add(used, _charge(request, quota))
        return {**quota, "status": {**status, "used": {one: str(amount) for one, amount in used.items()}}}

    for remaining in reversed(range(TRIES_MAX)):
        try:
            await updating.update(resource, call, book, _OPTIONS)
        except NotFound:
            return  # a quota that is gone limits nothing
        except Conflict:
            if not remaining:
                raise
        else:
            return
