"""ResourceQuota: charge new objects to the quotas of their namespace; reject what exceeds them."""

from functools import partial
from typing import Final

from mockkube.api import quota_usage
from mockkube.api.errors import Conflict, NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.quantities.pod_quantities import Quantities, add_quantities, parse_resource_list
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry import updating
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.resource import RequestScope, Resource

# Attempts to charge a quota against concurrent writes; then the last conflict is the response.
CHARGE_TRIES_MAX: Final = 100
_IGNORED_RESOURCES: Final = (("", "events"), ("events.k8s.io", "events"), ("", "bindings"))
_CHARGED_ON_UPDATE: Final = (("", "pods"), ("", "services"), ("", "persistentvolumeclaims"))
_APISERVER_USER: Final = User("system:apiserver", groups=(MASTERS_GROUP,))
_OPTIONS: Final = WriteOptions(field_manager="kube-apiserver")


class ResourceQuota(AdmissionPlugin):
    """Charges new objects, and updates that change the usage, to the status of quotas."""

    # upstream 1.36: apiserver/pkg/admission/plugin/resourcequota/controller.go
    name = "ResourceQuota"
    configured_by = ("", "resourcequotas")

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Reject what exceeds a quota, else charge it. A dry run is checked, not charged."""
        if not request.scope.namespace or not _may_change_usage(request):
            return
        resource = request.find_resource("", "resourcequotas")
        cached_objects = resource.collection.range(resource.prefix(request.scope.namespace))
        # All quotas are checked before the first is charged, so that a rejected request charges none.
        charges = {
            cached.name: _compute_charge(request, cached.load())
            for cached in cached_objects
            if _is_readable(resource, cached)
        }
        if not request.dry_run:
            for name, charge in charges.items():
                if charge:
                    await _charge_quota(request, name)

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether updates of the kind may change the usage of a quota."""
        kind = request.resource.storage_resource.kind
        return (kind.group, kind.plural) in _CHARGED_ON_UPDATE


def _is_readable(resource: Resource, cached: CachedObject) -> bool:
    """Return whether a stored quota can be parsed; others limit nothing, as upstream's informers do not have them."""
    bad, read_it = resource.collection.bad_objects, partial(_parse_quota, cached)
    return bad.attempt("ResourceQuota", "resourcequotas", cached.display_name, read_it, otherwise=False)


def _parse_quota(cached: CachedObject) -> bool:
    quota = cached.load()
    spec, status = quota.get("spec") or {}, quota.get("status") or {}
    for amounts in (spec.get("hard"), status.get("hard"), status.get("used")):
        parse_resource_list(amounts)
    scopes = [one["scopeName"] for one in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()]
    # Scopes are looked up in tables later, which fails for unhashable values.
    hash((*scopes, *(spec.get("scopes") or ())))
    return True


def _may_change_usage(request: AdmissionAttributes) -> bool:
    """Return whether the request may change the usage of a quota."""
    storage_resource = request.resource.storage_resource
    kind, subresource = (storage_resource.group, storage_resource.plural), request.scope.subresource
    creates, updates = request.operation is Operation.CREATE, request.operation is Operation.UPDATE
    if kind in _IGNORED_RESOURCES:
        return False
    if kind == ("", "pods"):
        return (creates and not subresource) or (updates and _pod_update_changes_usage(request))
    if kind == ("", "services"):
        return (creates or updates) and not subresource
    if kind == ("", "persistentvolumeclaims"):
        return (creates and not subresource) or (updates and subresource in ("", "status"))
    return creates and not subresource


def _pod_update_changes_usage(request: AdmissionAttributes) -> bool:
    assert request.old is not None
    # Resizing changes requests; other updates only matter if the pod starts or stops to be terminating.
    if request.scope.subresource == "resize":
        return True
    changed = quota_usage.has_terminating_scope(request.old) != quota_usage.has_terminating_scope(request.new)
    return not request.scope.subresource and changed


def _compute_charge(request: AdmissionAttributes, quota: ReadOnlyObject) -> Quantities:
    """Return what the request adds to the usage of a quota; raise Forbidden if that is too much."""
    if not _applies(request, quota, request.new):
        return {}
    storage_resource = request.resource.storage_resource
    name, status = quota["metadata"]["name"], quota.get("status") or {}
    hard, used = parse_resource_list(status.get("hard")), parse_resource_list(status.get("used"))
    names = quota_usage.matching_resources(storage_resource.group, storage_resource.plural, hard)
    _check_required_amounts(request, name, names)
    unknown = sorted(one for one in names if one not in used)
    if unknown:
        raise new_forbidden(request, f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")
    added = {one: amount for one, amount in _usage_delta(request, quota).items() if one in hard and amount.sign > 0}
    exceeded = [one for one in sorted(added) if (used[one] + added[one] if one in used else added[one]) > hard[one]]
    # A volume that turned out larger than requested is a fact, which status updates report.
    if exceeded and request.scope.subresource != "status":
        sides = (("requested", added), ("used", used), ("limited", hard))
        texts = [f"{title}: {','.join(f'{one}={of[one]}' for one in exceeded)}" for title, of in sides]
        raise new_forbidden(request, f"exceeded quota: {name}, {', '.join(texts)}")
    return added


def _applies(request: AdmissionAttributes, quota: ReadOnlyObject, obj: ReadOnlyObject) -> bool:
    """Return whether the quota tracks objects of this kind, and this one is in its scopes."""
    storage_resource = request.resource.storage_resource
    hard = (quota.get("status") or {}).get("hard") or {}
    if not quota_usage.matching_resources(storage_resource.group, storage_resource.plural, hard):
        return False
    spec, caps = quota.get("spec") or {}, storage_resource.dependencies.capabilities
    requirements = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    requirements += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(
        quota_usage.matches_scope(one, storage_resource.group, storage_resource.plural, obj, caps)
        for one in requirements
    )


def _check_required_amounts(request: AdmissionAttributes, quota: str, names: list[str]) -> None:
    storage_resource = request.resource.storage_resource
    if (storage_resource.group, storage_resource.plural) == ("", "pods"):
        why = quota_usage.find_missing_resources(request.new, names, storage_resource.dependencies.capabilities)
        if why:
            raise new_forbidden(request, f"failed quota: {quota}: {why}")


def _usage_delta(request: AdmissionAttributes, quota: ReadOnlyObject) -> Quantities:
    """Return the usage of the object, minus what this quota counted for its old state."""
    storage_resource = request.resource.storage_resource
    moment = quota_usage.UsageContext(
        storage_resource.dependencies.capabilities, storage_resource.dependencies.clock.now()
    )
    now = quota_usage.calculate_usage(storage_resource.group, storage_resource.plural, request.new, moment)
    if request.old is None or not _applies(request, quota, request.old):
        return now
    before = quota_usage.calculate_usage(storage_resource.group, storage_resource.plural, request.old, moment)
    return {name: amount - before[name] if name in before else amount for name, amount in now.items()}


async def _charge_quota(request: AdmissionAttributes, name: str) -> None:
    """Add the usage of the request to the status of a quota; check again if the quota changed meanwhile."""
    resource = request.find_resource("", "resourcequotas")
    scope = RequestScope(_APISERVER_USER, request.scope.namespace, name, "status", user_agent="kube-apiserver")

    def charge(quota: Object) -> Object:
        status = quota.get("status") or {}
        used = parse_resource_list(status.get("used"))
        add_quantities(used, _compute_charge(request, quota))
        return {**quota, "status": {**status, "used": {one: str(amount) for one, amount in used.items()}}}

    for remaining in reversed(range(CHARGE_TRIES_MAX)):
        try:
            await updating.update(resource, scope, charge, _OPTIONS)
        except NotFound:
            return  # a quota that is gone limits nothing
        except Conflict:
            if not remaining:
                raise
        else:
            return
