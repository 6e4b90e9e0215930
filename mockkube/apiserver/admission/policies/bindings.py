"""Apply bindings to policies: which policies match a request, and with which parameters."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mockkube.api.bounded_cache import BoundedCache
from mockkube.api.errors import ApiError
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.policies.evaluation import Occasion
from mockkube.apiserver.admission.policies.matching import Subject, matching_resource
from mockkube.apiserver.admission.policies.parameters import BadParameters, collect, resource_of
from mockkube.apiserver.registry.admission import Request
from mockkube.apiserver.registry.cache import Record
from mockkube.runtime.heavy_work import spend

# Estimated microseconds to compile a policy, for each of its bytes; charged to the request's budget.
_COMPILE_UNITS: Final = 4
# Compiled policies that are cached, by least recent use.
COMPILED_MAX: Final = 256
_Policy = TypeVar("_Policy")


class Compilations(Generic[_Policy]):
    """Cache of compiled policies; each is compiled when it is first needed."""

    def __init__(self, read: Callable[[ReadOnlyObject], _Policy]) -> None:
        self._read = read
        self._known: BoundedCache[tuple[str, str], _Policy] = BoundedCache(COMPILED_MAX)

    def of(self, record: Record) -> _Policy:
        """Return the compiled policy of a record."""
        obj = record.load()
        metadata = obj["metadata"]
        # The uid is needed, too: a policy may be deleted and created again under its name.
        key = (metadata["uid"], metadata["resourceVersion"])
        policy = self._known.get(key)
        if policy is None:
            spend(_COMPILE_UNITS * len(record.tail))
            policy = self._read(obj)
            self._known.put(key, policy)
        return policy


@dataclass(frozen=True, slots=True)
class Invocation:
    """Policy to evaluate on a request, with one binding and one parameter object."""

    binding: ReadOnlyObject
    occasion: Occasion
    params: ReadOnlyObject | None


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """Reason why a policy, or one of its bindings, cannot be matched with a request."""

    binding: ReadOnlyObject | None
    text: str


def invocations(
    request: Request, name: str, spec: ReadOnlyObject, bindings: Sequence[ReadOnlyObject]
) -> Iterator[Invocation | Misconfigured]:
    """Yield every combination of binding and parameters with which a policy applies to a request."""
    try:
        resource = matching_resource(request, spec.get("matchConstraints") or {})
        if resource is None:
            return
        kind = spec.get("paramKind")
        params_of = None if kind is None else resource_of(kind, request.resource.services)
    except (ApiError, BadParameters) as error:
        # Whether this rejects the request is up to the policy's failurePolicy.
        yield Misconfigured(None, f"failed to configure policy: {error}")
        return
    occasion = Occasion(request, resource)
    for binding in bindings:
        if binding["spec"].get("policyName") != name:
            continue
        try:
            if matching_resource(request, binding["spec"].get("matchResources") or {}) is None:
                continue
            params = collect(params_of, binding["spec"].get("paramRef"), Subject(request).namespace)
        except (ApiError, BadParameters) as error:
            yield Misconfigured(binding, f"failed to configure binding: {error}")
            continue
        for one in params:
            yield Invocation(binding, occasion, one)
