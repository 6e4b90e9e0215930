"""Apply bindings to policies: which policies match a request, and with which parameters."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import from_label_selector
from mockkube.apiserver.admission.policies.evaluation import VersionedAttributes
from mockkube.apiserver.admission.policies.matching import RequestMatcher, find_matching_resource
from mockkube.apiserver.registry.admission import AdmissionAttributes
from mockkube.apiserver.registry.cached_object import CachedObject
from mockkube.apiserver.registry.resource import RegistryDependencies, Resource
from mockkube.lazy_dataclasses import dataclass
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

    def get(self, cached: CachedObject) -> _Policy:
        """Return the compiled policy of a cached object."""
        obj = cached.load()
        metadata = obj["metadata"]
        # The uid is needed, too: a policy may be deleted and created again under its name.
        key = (metadata["uid"], metadata["resourceVersion"])
        policy = self._compiled.get(key)
        if policy is None:
            spend(_COMPILE_MICROSECONDS_PER_BYTE * cached.size)
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
    attributes = VersionedAttributes(request, resource)
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
            yield PolicyEvaluation(binding, attributes, one)


class ParametersError(Exception):
    """Error when the parameters of a policy cannot be found; the text has the reason."""


def find_param_resource(kind: ReadOnlyObject, dependencies: RegistryDependencies) -> Resource:
    """Return the resource of a paramKind; raise ParametersError if there is none."""
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    found = dependencies.find_by_kind(api_version, name)
    if found is None:
        raise ParametersError(f"failed to find resource referenced by paramKind: '{api_version}, Kind={name}'")
    return found


def collect_params(
    resource: Resource | None, reference: ReadOnlyObject | None, namespace: str
) -> Sequence[ReadOnlyObject | None]:
    """Return the parameters to evaluate the policy with; (None,) if it has no parameters."""
    # upstream 1.36: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go, CollectParams
    if resource is None or reference is None:
        return (None,)
    there = _param_namespace(resource, reference, namespace)
    found = [resource.to_served_version(cached.load()) for cached in _find_params(resource, reference, there)]
    # With `Allow` no parameters mean no evaluation, so the policy does not apply.
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ParametersError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _param_namespace(resource: Resource, reference: ReadOnlyObject, namespace: str) -> str:
    given: str = reference.get("namespace", "")
    if not resource.kind.namespaced:
        if given:
            raise ParametersError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        raise ParametersError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return given or namespace


def _find_params(resource: Resource, reference: ReadOnlyObject, namespace: str) -> list[CachedObject]:
    if name := reference.get("name", ""):
        cached = resource.get_cached(namespace, name)
        return [] if cached is None else [cached]
    selector = from_label_selector(reference.get("selector") or {})
    prefix = resource.prefix(namespace)
    return [cached for cached in resource.collection.range(prefix) if selector.matches(cached.labels)]
