"""What bindings make of policies: which of them a request is for, and with which parameters."""

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

_COMPILE_UNITS: Final = 4
"""How many microseconds it takes to compile a policy, for each of its bytes."""
COMPILED_MAX: Final = 256
"""How many policies are kept compiled; the one unused for longest is forgotten."""
_Policy = TypeVar("_Policy")


class Compilations(Generic[_Policy]):
    """Policies, each compiled when a request is first for it."""

    def __init__(self, read: Callable[[ReadOnlyObject], _Policy]) -> None:
        self._read = read
        self._known: BoundedCache[tuple[str, str], _Policy] = BoundedCache(COMPILED_MAX)

    def of(self, record: Record) -> _Policy:
        """The policy that is stored there."""
        obj = record.load()
        metadata = obj["metadata"]
        key = (metadata["uid"], metadata["resourceVersion"])
        policy = self._known.get(key)
        if policy is None:
            spend(_COMPILE_UNITS * len(record.tail))
            policy = self._read(obj)
            self._known.put(key, policy)
        return policy


@dataclass(frozen=True, slots=True)
class Invocation:
    """A policy is for a request, by a binding and with these parameters."""

    binding: ReadOnlyObject
    occasion: Occasion
    params: ReadOnlyObject | None


@dataclass(frozen=True, slots=True)
class Misconfigured:
    """It cannot be told whether a policy is for a request: by a binding, or at all."""

    binding: ReadOnlyObject | None
    text: str


def invocations(
    request: Request, name: str, spec: ReadOnlyObject, bindings: Sequence[ReadOnlyObject]
) -> Iterator[Invocation | Misconfigured]:
    """How often a policy is for a request, and what keeps that from being known."""
    try:
        resource = matching_resource(request, spec.get("matchConstraints") or {})
        if resource is None:
            return
        kind = spec.get("paramKind")
        params_of = None if kind is None else resource_of(kind, request.resource.services)
    except (ApiError, BadParameters) as error:
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
