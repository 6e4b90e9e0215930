"""Apply bindings to policies: which policies match a request, and with which parameters."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.admission.policies.evaluation import VersionedAttributes
from mockkube.apiserver.admission.policies.matching import RequestMatcher, find_matching_resource
from mockkube.apiserver.admission.policies.parameters import ParametersError, collect_params, find_param_resource
from mockkube.apiserver.registry.admission import AdmissionAttributes
from mockkube.apiserver.registry.watch_cache import CachedObject
from mockkube.runtime.heavy_work import spend

# Estimated microseconds to compile a policy, for each of its bytes; charged to the request's budget.
_COMPILE_MICROSECONDS_PER_BYTE: Final = 4
# Compiled policies that are cached, by least recent use.
COMPILED_POLICIES_MAX: Final = 256
_Policy = TypeVar("_Policy")


class CompiledPolicies(Generic[_Policy]):
    """Cache of compiled policies; each is compiled when it is first needed."""

    def __init__(self, compile_policy: Callable[[ReadOnlyObject], _Policy]) -> None:
        self._compile = compile_policy
        self._compiled: BoundedCache[tuple[str, str], _Policy] = BoundedCache(COMPILED_POLICIES_MAX)

    def get(self, record: CachedObject) -> _Policy:
        """Return the compiled policy of a record."""
        obj = record.load()
        metadata = obj["metadata"]
        # The uid is needed, too: a policy may be deleted and created again under its name.
        key = (metadata["uid"], metadata["resourceVersion"])
        policy = self._compiled.get(key)
        if policy is None:
            spend(_COMPILE_MICROSECONDS_PER_BYTE * len(record.tail))
            policy = self._compile(obj)
            self._compiled.put(key, policy)
        return policy


@dataclass(frozen=True, slots=True)
class PolicyEvaluation:
    """Policy to evaluate on a request, with one binding and one parameter object."""

    binding: ReadOnlyObject
    attributes: VersionedAttributes
    params: ReadOnlyObject | None


@dataclass(frozen=True, slots=True)
class PolicyMisconfiguration:
    """Reason why a policy, or one of its bindings, cannot be matched with a request."""

    binding: ReadOnlyObject | None
    message: str


def find_evaluations(
    request: AdmissionAttributes, name: str, spec: ReadOnlyObject, bindings: Sequence[ReadOnlyObject]
) -> Iterator[PolicyEvaluation | PolicyMisconfiguration]:
    """Yield every combination of binding and parameters with which a policy applies to a request."""
    try:
        resource = find_matching_resource(request, spec.get("matchConstraints") or {})
        if resource is None:
            return
        kind = spec.get("paramKind")
        params_of = None if kind is None else find_param_resource(kind, request.resource.dependencies)
    except (ApiError, ParametersError) as error:
        # Whether this rejects the request is up to the policy's failurePolicy.
        yield PolicyMisconfiguration(None, f"failed to configure policy: {error}")
        return
    occasion = VersionedAttributes(request, resource)
    for binding in bindings:
        if binding["spec"].get("policyName") != name:
            continue
        try:
            if find_matching_resource(request, binding["spec"].get("matchResources") or {}) is None:
                continue
            params = collect_params(params_of, binding["spec"].get("paramRef"), RequestMatcher(request).namespace)
        except (ApiError, ParametersError) as error:
            yield PolicyMisconfiguration(binding, f"failed to configure binding: {error}")
            continue
        for one in params:
            yield PolicyEvaluation(binding, occasion, one)
