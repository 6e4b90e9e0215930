"""Authorization checks: declared, so that their names are known; without the variable they start from, never called.

upstream 1.36: apiserver/pkg/cel/library/authz.go
"""

from typing import Final

from mockkube.matching.cel import types
from mockkube.matching.cel.declarations import Function, Overload
from mockkube.matching.cel.types import BOOL, STRING, CelType
from mockkube.matching.cel.values import NO_OVERLOAD

_AUTHORIZER: Final = types.struct("kubernetes.authorization.Authorizer")
_PATH: Final = types.struct("kubernetes.authorization.PathCheck")
_GROUP: Final = types.struct("kubernetes.authorization.GroupCheck")
_RESOURCE: Final = types.struct("kubernetes.authorization.ResourceCheck")
_DECISION: Final = types.struct("kubernetes.authorization.Decision")


def _member(overload_id: str, args: tuple[CelType, ...], result: CelType) -> Overload:
    return Overload(overload_id, args, result, lambda *args: NO_OVERLOAD, member=True, eager=len(args) > 2)


FUNCTIONS: Final = (
    Function("path", (_member("authorizer_path", (_AUTHORIZER, STRING), _PATH),)),
    Function("group", (_member("authorizer_group", (_AUTHORIZER, STRING), _GROUP),)),
    Function("serviceAccount", (_member("authorizer_serviceaccount", (_AUTHORIZER, STRING, STRING), _AUTHORIZER),)),
    Function("resource", (_member("groupcheck_resource", (_GROUP, STRING), _RESOURCE),)),
    Function("subresource", (_member("resourcecheck_subresource", (_RESOURCE, STRING), _RESOURCE),)),
    Function("namespace", (_member("resourcecheck_namespace", (_RESOURCE, STRING), _RESOURCE),)),
    Function("name", (_member("resourcecheck_name", (_RESOURCE, STRING), _RESOURCE),)),
    Function(
        "check",
        (
            _member("pathcheck_check", (_PATH, STRING), _DECISION),
            _member("resourcecheck_check", (_RESOURCE, STRING), _DECISION),
        ),
    ),
    Function("errored", (_member("decision_errored", (_DECISION,), BOOL),)),
    Function("error", (_member("decision_error", (_DECISION,), STRING),)),
    Function("allowed", (_member("decision_allowed", (_DECISION,), BOOL),)),
    Function("reason", (_member("decision_reason", (_DECISION,), STRING),)),
    Function("fieldSelector", (_member("authorizer_fieldselector", (_RESOURCE, STRING), _RESOURCE),)),
    Function("labelSelector", (_member("authorizer_labelselector", (_RESOURCE, STRING), _RESOURCE),)),
)
