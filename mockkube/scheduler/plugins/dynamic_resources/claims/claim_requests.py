"""Requests of resource claims, compiled once per cycle: classes, alternatives, constraints.

upstream 1.36: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.client.informer import Informer
from mockkube.client.protocol import Key, key_of
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.taints import CompiledToleration, TaintRules, compile_tolerations
from mockkube.scheduler.plugins.dynamic_resources.devices.constraints import (
    DeviceConstraint,
    DistinctAttributeConstraint,
    MatchAttributeConstraint,
)
from mockkube.scheduler.plugins.dynamic_resources.devices.consumable_capacity import ConsumedCapacity
from mockkube.scheduler.plugins.dynamic_resources.features import DynamicResourcesFeatures

# Devices per claim. upstream: AllocationResultsMaxSize
DEVICES_MAX: Final = 32


class AllocationError(Exception):
    """Raised when a claim cannot be allocated on any node; the attempt ends with this message."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceRequest:
    """Request, or one alternative of a request."""

    name: str
    parent: str
    """Request that has this alternative; empty for a request of its own."""
    obj: ReadOnlyObject
    device_class: ReadOnlyObject
    all_devices: bool
    count: int
    admin_access: bool
    selectors: tuple[str, ...]
    tolerations: tuple[CompiledToleration, ...]
    capacity: ConsumedCapacity

    @property
    def full_name(self) -> str:
        """Name in results and configurations."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        """Name of the request in the claim."""
        return self.parent or self.name

    @property
    def sub_name(self) -> str:
        """Name of the alternative; empty if it is none."""
        return self.name if self.parent else ""


@dataclass(frozen=True, slots=True, eq=False)
class ClaimRequests:
    """Claim to allocate, with the alternatives of each request (one if it has none)."""

    claim: ReadOnlyObject
    requests: tuple[tuple[DeviceRequest, ...], ...]

    @property
    def name(self) -> str:
        """Namespace and name of the claim, as in messages."""
        return str(key_of(self.claim))

    @property
    def uid(self) -> str:
        """Uid of the claim."""
        uid: str = self.claim["metadata"]["uid"]
        return uid


class ClaimCompiler:
    """Compiles claims with their device classes."""

    def __init__(self, classes: Informer, tolerations: TaintRules, features: DynamicResourcesFeatures) -> None:
        self._classes, self._tolerations, self._features = classes, tolerations, features

    def compile(self, claim: ReadOnlyObject) -> ClaimRequests:
        """Compile a claim; raise AllocationError."""
        requests = _device_claim(claim).get("requests") or ()
        return ClaimRequests(
            claim, tuple(self._compile_alternatives(str(key_of(claim)), request) for request in requests)
        )

    def compile_constraints(self, wanted: ClaimRequests) -> list[DeviceConstraint]:
        """Return the constraints of a claim, without devices; raise AllocationError."""
        constraints: list[DeviceConstraint] = []
        for index, one in enumerate(_device_claim(wanted.claim).get("constraints") or ()):
            requests, lists = frozenset(one.get("requests") or ()), self._features.list_constraints
            if "matchAttribute" in one:
                constraints.append(MatchAttributeConstraint(one["matchAttribute"], requests, lists=lists))
            elif "distinctAttribute" in one and self._features.consumable_capacity:
                constraints.append(DistinctAttributeConstraint(one["distinctAttribute"], requests, lists=lists))
            else:
                text = "empty constraint (unsupported constraint type?)"
                raise AllocationError(f"claim {wanted.name}, constraint #{index}: {text}")
        return constraints

    def _compile_alternatives(self, claim: str, request: ReadOnlyObject) -> tuple[DeviceRequest, ...]:
        name, alternatives = request["name"], request.get("firstAvailable") or ()
        if alternatives and not self._features.prioritized_lists:
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise AllocationError(f"claim {claim}, request {name}: {text}")
        forms = alternatives or (request.get("exactly") or {},)
        for form in forms:
            if "capacity" in form and not self._features.consumable_capacity:
                subject = f"subrequest {form['name']}" if alternatives else f"request {name}"
                text = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
                raise AllocationError(f"claim {claim}, {subject}: {text}")
        if alternatives:
            return tuple(self._compile_request(claim, form["name"], name, form) for form in forms)
        return (self._compile_request(claim, name, "", forms[0]),)

    def _compile_request(self, claim: str, name: str, parent: str, form: ReadOnlyObject) -> DeviceRequest:
        where = f"claim {claim}, request {name}"
        if "adminAccess" in form and not self._features.admin_access:
            raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
        mode = form.get("allocationMode", "ExactCount")
        if mode not in ("ExactCount", "All"):
            raise AllocationError(f"{where}: unsupported count mode {mode}")
        tolerations = form.get("tolerations") or ()
        return DeviceRequest(
            name=name,
            parent=parent,
            obj=form,
            device_class=self._get_class(where, form.get("deviceClassName", "")),
            all_devices=mode == "All",
            count=form.get("count", 1),
            admin_access=bool(form.get("adminAccess")),
            selectors=_check_selectors(where, form.get("selectors") or ()),
            tolerations=compile_tolerations(tolerations, self._tolerations),
            capacity=_parse_amounts((form.get("capacity") or {}).get("requests") or {}),
        )

    def _get_class(self, where: str, name: str) -> ReadOnlyObject:
        if not name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes.get(Key("", name))
        if device_class is None:
            missing = f'could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
            raise AllocationError(f"{where}: {missing}")
        return device_class


def _device_claim(claim: ReadOnlyObject) -> ReadOnlyObject:
    devices: ReadOnlyObject = claim["spec"].get("devices") or {}
    return devices


def _check_selectors(where: str, selectors: Sequence[ReadOnlyObject]) -> tuple[str, ...]:
    for index, one in enumerate(selectors):
        if "cel" not in one:
            text = "CEL expression empty (unsupported selector type?)"
            raise AllocationError(f"{where}, selector #{index}: {text}")
    return tuple(one["cel"]["expression"] for one in selectors)


def _parse_amounts(requests: Mapping[str, object]) -> ConsumedCapacity:
    return {name: parse(str(text)) for name, text in requests.items()}
