"""Binding rules of PersistentVolumes and claims: storage class, claimRef, best match.

upstream 1.36: component-helpers/storage/volume/pv_helpers.go, helpers.go
"""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.persistent_volume_claim_validation import STORAGE_CLASS_ANNOTATION
from mockkube.api.quantities import quantity
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import LabelSelector, from_label_selector
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_selectors import LabelOperator, NodeSelector, compile_terms

BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
# Provisioner of classes whose volumes are created manually.
NOT_PROVISIONED: Final = "kubernetes.io/no-provisioner"


def storage_class_of(obj: ReadOnlyObject) -> str:
    """Return the storage class of a claim or volume; the beta annotation precedes the field."""
    annotations = obj["metadata"].get("annotations") or {}
    name: str = annotations[STORAGE_CLASS_ANNOTATION] if STORAGE_CLASS_ANNOTATION in annotations else _spec_class(obj)
    return name


def _spec_class(obj: ReadOnlyObject) -> str:
    return obj["spec"].get("storageClassName") or ""


def has_annotation(obj: ReadOnlyObject, name: str) -> bool:
    """Return whether an object has an annotation with any value."""
    return name in (obj["metadata"].get("annotations") or {})


def is_fully_bound(claim: ReadOnlyObject) -> bool:
    """Return whether the claim has its volume and binding is complete."""
    return bool(claim["spec"].get("volumeName")) and has_annotation(claim, BIND_COMPLETED)


def is_bound_to_claim(volume: ReadOnlyObject, claim: ReadOnlyObject) -> bool:
    """Return whether the volume's claimRef is this claim; without a uid it fits any claim of the name."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    metadata = claim["metadata"]
    if reference.get("name") != metadata["name"] or reference.get("namespace") != metadata["namespace"]:
        return False
    return not reference.get("uid") or reference["uid"] == metadata["uid"]


def bind_to_claim(volume: ReadOnlyObject, claim: ReadOnlyObject) -> Object | None:
    """Return the volume with its claimRef set to the claim; None if it is set already."""
    bound_before, metadata = is_bound_to_claim(volume, claim), claim["metadata"]
    reference = volume["spec"].get("claimRef") or {}
    set_by_controller = bound_before or has_annotation(volume, BOUND_BY_CONTROLLER)
    if bound_before and reference.get("uid") == metadata["uid"]:
        return None
    spec = {**volume["spec"], "claimRef": _make_claim_ref(claim)}
    old = volume["metadata"]
    annotations = old.get("annotations") or {}
    if not set_by_controller:
        # Marks a claimRef that the controller has set and may therefore clear; one set by the user stays.
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    return {**volume, "metadata": {**old, "annotations": annotations} if annotations else old, "spec": spec}


def _make_claim_ref(claim: ReadOnlyObject) -> Object:
    metadata = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }


@dataclass(frozen=True, slots=True)
class RequiredLabel:
    """A label, with its allowed values, that every node which reaches the volume must have."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompiledVolume:
    """A PersistentVolume as matching needs it; `affinity` is None if every node can reach it."""

    obj: ReadOnlyObject
    name: str
    size: Decimal
    storage_class: str
    attributes_class: str
    mode: str
    access_modes: frozenset[str]
    labels: Mapping[str, str]
    affinity: NodeSelector | None
    required_label: "RequiredLabel | None"
    is_available: bool
    is_terminating: bool

    @classmethod
    def from_object(cls, obj: ReadOnlyObject, operators: Mapping[str, LabelOperator]) -> "CompiledVolume":
        """Compile a PersistentVolume with the node affinity operators of its component."""
        spec, metadata = obj["spec"], obj["metadata"]
        return cls(
            obj=obj,
            name=metadata["name"],
            size=parse_amount((spec.get("capacity") or {}).get("storage")),
            storage_class=storage_class_of(obj),
            attributes_class=spec.get("volumeAttributesClassName") or "",
            mode=spec.get("volumeMode", "Filesystem"),
            access_modes=frozenset(spec.get("accessModes") or ()),
            labels=metadata.get("labels") or {},
            affinity=compile_node_affinity(obj, operators),
            required_label=_required_label(obj),
            is_available=(obj.get("status") or {}).get("phase") == "Available",
            is_terminating=bool(metadata.get("deletionTimestamp")),
        )

    @property
    def has_claim_ref(self) -> bool:
        """True if a claimRef is set."""
        return "claimRef" in self.obj["spec"]

    def is_reachable_from(self, labels: Mapping[str, str]) -> bool:
        """Return whether a node with these labels can reach the volume."""
        return self.affinity is None or self.affinity.matches(labels)


def compile_node_affinity(volume: ReadOnlyObject, operators: Mapping[str, LabelOperator]) -> NodeSelector | None:
    """Compile the node affinity of a volume; None if it has none."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return None if required is None else compile_terms(required.get("nodeSelectorTerms") or (), operators)


def _required_label(volume: ReadOnlyObject) -> RequiredLabel | None:
    """Return a label that every node which reaches the volume must have; None if that is not obvious."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    terms = list(required.get("nodeSelectorTerms") or ())
    # Terms are alternatives: with several of them no single label is required.
    if len(terms) != 1:
        return None
    wanted = (one for one in terms[0].get("matchExpressions") or () if one.get("operator") == "In")
    return next((RequiredLabel(one["key"], tuple(one.get("values") or ())) for one in wanted), None)


def parse_amount(text: str | None) -> Decimal:
    """Return the value of a quantity, 0 for a missing one."""
    return Decimal(0) if text is None else quantity.parse(str(text)).amount


@dataclass(frozen=True, slots=True)
class ClaimRequirements:
    """Requirements of a claim for its volume."""

    obj: ReadOnlyObject
    size: Decimal
    storage_class: str
    attributes_class: str
    mode: str
    access_modes: frozenset[str]
    selector: LabelSelector | None

    @classmethod
    def from_object(cls, claim: ReadOnlyObject) -> "ClaimRequirements":
        """Compile a PersistentVolumeClaim; raise ValueError if its selector does not parse."""
        spec = claim["spec"]
        return cls(
            obj=claim,
            size=parse_amount(((spec.get("resources") or {}).get("requests") or {}).get("storage")),
            storage_class=storage_class_of(claim),
            attributes_class=spec.get("volumeAttributesClassName") or "",
            mode=spec.get("volumeMode", "Filesystem"),
            access_modes=frozenset(spec.get("accessModes") or ()),
            selector=_compile_selector(claim),
        )

    @property
    def requests_size(self) -> bool:
        """True if the claim requests a size."""
        return "storage" in ((self.obj["spec"].get("resources") or {}).get("requests") or {})

    @property
    def name(self) -> str:
        """Namespace and name of the claim, as in messages."""
        return f"{self.obj['metadata']['namespace']}/{self.obj['metadata']['name']}"


def _compile_selector(claim: ReadOnlyObject) -> LabelSelector | None:
    selector = claim["spec"].get("selector")
    if selector is None:
        return None
    try:
        return from_label_selector(selector)
    except BadSelector as error:
        name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        raise ValueError(f"error creating internal label selector for claim: {name}: {error}") from None


@dataclass(frozen=True, slots=True)
class SearchConditions:
    """Conditions of a search for a volume.

    `labels` are those of the node that must reach the volume; None if no node is known yet. In that case `delayed`
    leaves volumes that are not reserved for the claim to the scheduler.
    """

    labels: Mapping[str, str] | None = None
    delayed: bool = False
    # True if VolumeAttributesClasses are enabled; otherwise volumes with one match no claim.
    attributes_classes: bool = True


def find_volume(
    claim: ClaimRequirements,
    volumes: Iterable[CompiledVolume],
    conditions: SearchConditions,
    taken: Collection[str] = (),
) -> CompiledVolume | None:  # hot: per claim and node
    """Return the volume reserved for the claim, else the smallest sufficient one; None if there is none."""
    if claim.attributes_class and not conditions.attributes_classes:
        raise ValueError(
            f"unsupported volumeAttributesClassName is set on claim {claim.name} "
            "when the feature-gate VolumeAttributesClass is disabled"
        )
    smallest: CompiledVolume | None = None
    for volume in volumes:
        if volume.name in taken or not satisfies(claim, volume, on_node=conditions.labels is not None):
            continue
        reachable = conditions.labels is None or volume.is_reachable_from(conditions.labels)
        if volume.has_claim_ref:
            # Reserved for this claim: no other volume may take its place, even if the node cannot reach this one.
            return volume if reachable else None
        if not reachable or (conditions.labels is None and conditions.delayed):
            continue
        if smallest is None or volume.size < smallest.size:
            smallest = volume
    return smallest


def satisfies(claim: ClaimRequirements, volume: CompiledVolume, *, on_node: bool) -> bool:
    """Return whether a claim may use a volume, apart from reachability; access modes count once there is a node."""
    if volume.size < claim.size or volume.is_terminating:
        return False
    if volume.mode != claim.mode or volume.attributes_class != claim.attributes_class:
        return False
    # A volume bound to the claim by its user need not have its class, labels or access modes.
    if volume.has_claim_ref:
        return is_bound_to_claim(volume.obj, claim.obj)
    if not volume.is_available or volume.storage_class != claim.storage_class:
        return False
    if claim.selector is not None and not claim.selector.matches(volume.labels):
        return False
    # The volume controller, which knows no node, has looked the volumes up by access modes already.
    return not on_node or claim.access_modes <= volume.access_modes
