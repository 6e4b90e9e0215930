"""Authorization functions: `authorizer.group('apps').resource('deployments').check('create').allowed()`.

The value of the variable `authorizer` holds a function that decides each check.
upstream 1.36: apiserver/pkg/cel/library/authz.go
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from mockkube_cel import types, values
from mockkube_cel.declarations import CallEstimate, Function, Implementation, Overload, SizedOperand
from mockkube_cel.sizes import LIST_COST, STRUCT_COST, TRAVERSAL_FACTOR, Cost, Size, fixed
from mockkube_cel.types import BOOL, STRING, CelType
from mockkube_cel.values import NO_OVERLOAD, CelError

from mockkube.api import names
from mockkube.lazy_dataclasses import dataclass

# Allows two checks in an expression.
CHECK_COST: Final = 350_000
_AUTHORIZER: Final = types.struct("kubernetes.authorization.Authorizer")
_PATH: Final = types.struct("kubernetes.authorization.PathCheck")
_GROUP: Final = types.struct("kubernetes.authorization.GroupCheck")
_RESOURCE: Final = types.struct("kubernetes.authorization.ResourceCheck")
_DECISION: Final = types.struct("kubernetes.authorization.Decision")


@dataclass(frozen=True, slots=True)
class CheckAttributes:
    """Attributes of one check, for the requesting user or a service account."""

    verb: str = ""
    # Namespace and name of the service account.
    account: tuple[str, str] | None = None
    path: str | None = None
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class CelDecision:
    """Result of a check."""

    allowed: bool
    reason: str = ""


Authorize = Callable[[CheckAttributes], CelDecision]


@dataclass(frozen=True, slots=True)
class CelAuthorizer:
    """CelAuthorizer before any path or group is chosen."""

    authorize: Authorize
    attributes: CheckAttributes = CheckAttributes()


class PathCheck(CelAuthorizer):
    """Check of a non-resource path."""

    __slots__ = ()


class GroupCheck(CelAuthorizer):
    """Check of a group, before its resource is chosen."""

    __slots__ = ()


class ResourceCheck(CelAuthorizer):
    """Check of a resource."""

    __slots__ = ()


def _incomparable(one: Any, other: Any) -> CelError:
    return NO_OVERLOAD


for _type, _cel_type in (
    (CelAuthorizer, _AUTHORIZER),
    (PathCheck, _PATH),
    (GroupCheck, _GROUP),
    (ResourceCheck, _RESOURCE),
    (CelDecision, _DECISION),
):
    values.register_opaque_type(_type, values.OpaqueType(_cel_type, f"library.{_type.__name__}", _incomparable))


def path(authorizer: CelAuthorizer, text: str) -> Any:
    """Compute `authorizer.path(text)`."""
    if not text.strip():
        return CelError("path must not be empty")
    return PathCheck(authorizer.authorize, replace(authorizer.attributes, path=text))


def group(authorizer: CelAuthorizer, text: str) -> GroupCheck:
    """Compute `authorizer.group(text)`."""
    return GroupCheck(authorizer.authorize, replace(authorizer.attributes, group=text))


def service_account(authorizer: CelAuthorizer, namespace: str, name: str) -> Any:
    """Compute `authorizer.serviceAccount(namespace, name)`."""
    if names.check_dns_subdomain(name):
        return CelError("Invalid service account name")
    if names.check_dns_label(namespace):
        return CelError("Invalid service account namespace")
    # Starts from empty attributes: the account replaces the requesting user.
    return CelAuthorizer(authorizer.authorize, CheckAttributes(account=(namespace, name)))


def check(authorizer: CelAuthorizer, verb: str) -> CelDecision:
    """Compute `check(verb)`."""
    return authorizer.authorize(replace(authorizer.attributes, verb=verb))


def _set_attribute(field: str) -> Implementation:
    """Return a function that sets one attribute of a resource check."""
    return lambda asked, text: ResourceCheck(asked.authorize, replace(asked.attributes, **{field: text}))


def _charge_check(operands: Sequence[Any], result: Any) -> int:
    return CHECK_COST


def _estimate_check(operands: Sequence[SizedOperand]) -> CallEstimate:
    return CallEstimate(fixed(CHECK_COST))


def _selector_cost(size: Size) -> Cost:
    """Return the cost of parsing a selector into a list of requirements; two characters may hold one."""
    requirements = size.scale_by(0.5).scale_by(LIST_COST + STRUCT_COST)
    return fixed(LIST_COST) + size.scale_by(TRAVERSAL_FACTOR) + requirements


def _charge_selector(operands: Sequence[Any], result: Any) -> int:
    return _selector_cost(fixed(values.size_of(operands[1]))).max


def _estimate_selector(operands: Sequence[SizedOperand]) -> CallEstimate:
    return CallEstimate(_selector_cost(operands[1].size))


def _member(overload_id: str, args: tuple[CelType, ...], result: CelType, run: Implementation) -> Overload:
    return Overload(overload_id, args, result, run, member=True, eager=len(args) > 2)


def _declare_attribute(name: str, overload_id: str, field: str, on: CelType = _RESOURCE) -> Function:
    return Function(name, (_member(overload_id, (on, STRING), _RESOURCE, _set_attribute(field)),))


def _declare_selector(name: str, overload_id: str, field: str) -> Function:
    overload = _member(overload_id, (_RESOURCE, STRING), _RESOURCE, _set_attribute(field))
    return Function(name, (overload,), estimate=_estimate_selector, charge=_charge_selector)


FUNCTIONS: Final = (
    Function("path", (_member("authorizer_path", (_AUTHORIZER, STRING), _PATH, path),)),
    Function("group", (_member("authorizer_group", (_AUTHORIZER, STRING), _GROUP, group),)),
    Function(
        "serviceAccount",
        (_member("authorizer_serviceaccount", (_AUTHORIZER, STRING, STRING), _AUTHORIZER, service_account),),
    ),
    _declare_attribute("resource", "groupcheck_resource", "resource", _GROUP),
    _declare_attribute("subresource", "resourcecheck_subresource", "subresource"),
    _declare_attribute("namespace", "resourcecheck_namespace", "namespace"),
    _declare_attribute("name", "resourcecheck_name", "name"),
    Function(
        "check",
        (
            _member("pathcheck_check", (_PATH, STRING), _DECISION, check),
            _member("resourcecheck_check", (_RESOURCE, STRING), _DECISION, check),
        ),
        estimate=_estimate_check,
        charge=_charge_check,
    ),
    # Decisions of authorizers inside the server cannot fail, unlike those of a webhook.
    Function("errored", (_member("decision_errored", (_DECISION,), BOOL, lambda decision: False),)),
    Function("error", (_member("decision_error", (_DECISION,), STRING, lambda decision: ""),)),
    Function("allowed", (_member("decision_allowed", (_DECISION,), BOOL, lambda decision: decision.allowed),)),
    Function("reason", (_member("decision_reason", (_DECISION,), STRING, lambda decision: decision.reason),)),
    _declare_selector("fieldSelector", "authorizer_fieldselector", "field_selector"),
    _declare_selector("labelSelector", "authorizer_labelselector", "label_selector"),
)
