"""Validate PersistentVolumes and return their warnings."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidatePersistentVolume and what follows it

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final

from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.persistent_volume_claim_validation import (
    VOLUME_MODES,
    is_attributes_class_enabled,
    validate_access_modes,
    validate_class_name,
    validate_nonnegative_amount,
)
from mockkube.api.kinds.core.pod.volumes.sources import (
    VolumeSource,
    check_aws,
    check_azure_disk,
    check_azure_file_persistent_volume,
    check_cinder_persistent_volume,
    check_csi_persistent_volume,
    check_fc,
    check_flex,
    check_flocker,
    check_gce,
    check_glusterfs_persistent_volume,
    check_host_path,
    check_local,
    check_nfs,
    check_quobyte,
    check_storage_os_persistent_volume,
    make_iscsi_volume_check,
    require_fields,
    validate_sources,
)
from mockkube.api.quantities.quantity import parse
from mockkube.api.validation.extensions import NO_EXTENSIONS, ValidationExtensions
from mockkube.api.validation.internal_form import diff_internal_forms, to_internal_form
from mockkube.api.validation.metadata import IMMUTABLE, validate_immutable
from mockkube.api.validation.node_selector import (
    NodeSelectorOptions,
    get_node_selector_term_warnings,
    has_invalid_values,
    validate_node_selector,
)
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_EXPAND_SECRET: Final = "controllerExpandSecretRef"  # noqa: S105
_POSITIVE_DETAIL: Final = "must be greater than zero"
_GA_LABEL_BY_BETA_LABEL: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
# In upstream's order: of several sources the first is validated and the others are forbidden.
_SOURCES: Final = (
    VolumeSource("hostPath", check_host_path),
    VolumeSource("gcePersistentDisk", check_gce, at="persistentDisk"),
    VolumeSource("awsElasticBlockStore", check_aws),
    VolumeSource("glusterfs", check_glusterfs_persistent_volume),
    VolumeSource("flocker", check_flocker),
    VolumeSource("nfs", check_nfs),
    VolumeSource("rbd", require_fields("monitors", "image")),
    VolumeSource("quobyte", check_quobyte),
    VolumeSource("cephfs", require_fields("monitors"), second_at="cephFS"),
    VolumeSource("iscsi", make_iscsi_volume_check("")),
    VolumeSource("cinder", check_cinder_persistent_volume),
    VolumeSource("fc", check_fc),
    VolumeSource("flexVolume", check_flex, always_checked=True),
    VolumeSource("azureFile", check_azure_file_persistent_volume),
    VolumeSource("vsphereVolume", require_fields("volumePath")),
    VolumeSource("photonPersistentDisk", require_fields("pdID")),
    VolumeSource("portworxVolume", require_fields("volumeID")),
    VolumeSource("azureDisk", check_azure_disk),
    VolumeSource("scaleIO", require_fields("gateway", "system", "volumeName")),
    VolumeSource("local", check_local),
    VolumeSource("storageos", check_storage_os_persistent_volume),
    VolumeSource("csi", check_csi_persistent_volume),
)
_SOURCE_FIELDS: Final = tuple(source.field for source in _SOURCES)
_SOURCES_WITH_MOUNT_OPTIONS: Final = (
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
)


@dataclass(frozen=True, slots=True)
class VolumeValidationOptions:
    """Validation options that follow from the gates and the stored volume."""

    attributes_class: bool = True
    allow_node_affinity_update: bool = False
    selectors: NodeSelectorOptions = field(default_factory=NodeSelectorOptions)


def volume_validation_options(
    caps: Capabilities, extensions: ValidationExtensions, old: ReadOnlyObject | None = None
) -> VolumeValidationOptions:
    """Return the options for a new volume, or for an update of `old`."""
    spec: ReadOnlyObject = (old or {}).get("spec", {})
    terms = spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms") or ()
    allowed = frozenset[str]() if extensions is NO_EXTENSIONS else extensions.find_allowed_gates(caps, (), terms)
    return VolumeValidationOptions(
        attributes_class=is_attributes_class_enabled(caps) or "volumeAttributesClassName" in spec,
        allow_node_affinity_update=caps.enabled("MutablePVNodeAffinity"),
        selectors=NodeSelectorOptions(has_invalid_values(terms), extensions, allowed),
    )


def validate_volume_spec(volume: ReadOnlyObject, options: VolumeValidationOptions) -> list[FieldError]:
    """Validate the spec of a persistent volume."""
    spec, at = volume.get("spec", {}), "spec"
    modes = spec.get("accessModes", ())
    errors = [] if modes else [required("spec.accessModes")]
    errors += validate_access_modes(modes, "spec.accessModes")
    errors += _validate_capacity(spec.get("capacity", {}), "spec.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _RECLAIM_POLICIES:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES))
    if "nodeAffinity" in spec:
        errors += _validate_affinity(spec["nodeAffinity"], "spec.nodeAffinity", options.selectors)
    errors += _validate_source(volume, at)
    # Recycling runs `rm -rf` in a pod that mounts the volume.
    path = spec.get("hostPath", {}).get("path", "")
    if path and posixpath.normpath(path) in ("/", "//") and policy == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    errors += validate_class_name(spec, "storageClassName", at)
    if "volumeMode" in spec and spec["volumeMode"] not in VOLUME_MODES:
        errors.append(not_supported("spec.volumeMode", spec["volumeMode"], VOLUME_MODES))
    if "volumeAttributesClassName" in spec and options.attributes_class:
        errors += _validate_attributes_class(spec)
    return errors


def _validate_capacity(capacity: Mapping[str, str], at: str) -> list[FieldError]:
    errors = [] if capacity else [required(at)]
    if set(capacity) != {"storage"}:
        errors.append(not_supported(at, to_internal_form("map", capacity), ("storage",)))
    for name, amount in capacity.items():
        errors += validate_nonnegative_amount(amount, f"{at}[{name}]")
        if parse(amount).sign <= 0:
            errors.append(invalid(f"{at}[{name}]", amount, _POSITIVE_DETAIL))
    return errors


def _validate_affinity(affinity: ReadOnlyObject, at: str, rules: NodeSelectorOptions) -> list[FieldError]:
    if "required" not in affinity:
        return [required(f"{at}.required", "must specify required node constraints")]
    return validate_node_selector(affinity["required"], f"{at}.required", rules)


def _validate_source(volume: ReadOnlyObject, at: str) -> list[FieldError]:
    spec = volume.get("spec", {})
    # Only these two checks need more than their own source: the name of the volume, and its node affinity.
    if "iscsi" not in spec and "local" not in spec:
        return validate_sources(spec, _SOURCES, at)
    checks = {
        "iscsi": make_iscsi_volume_check(volume["metadata"].get("name", "")),
        "local": _make_local_check(spec, at),
    }
    sources = [replace(source, check=checks.get(source.field, source.check)) for source in _SOURCES]
    return validate_sources(spec, sources, at)


def _make_local_check(spec: ReadOnlyObject, spec_at: str) -> Any:
    def check(source: ReadOnlyObject, at: str) -> list[FieldError]:
        errors = check_local(source, at)
        if "nodeAffinity" not in spec:
            errors.append(required(f"{spec_at}.nodeAffinity", "Local volume requires node affinity"))
        return errors

    return check


def _validate_attributes_class(spec: ReadOnlyObject) -> list[FieldError]:
    field_name = "volumeAttributesClassName"
    errors = validate_class_name(spec, field_name, "spec")
    if not spec[field_name]:
        errors.append(required(f"spec.{field_name}", "an empty string is disallowed"))
    if "csi" not in spec:
        errors.append(required("spec.csi", f"has to be specified when using {field_name}"))
    return errors


def validate_mount_options(volume: ReadOnlyObject) -> list[FieldError]:
    """Reject annotated mount options for sources that do not support them."""
    # upstream 1.36: pkg/volume/validation/pv_validation.go
    if _MOUNT_OPTIONS not in volume["metadata"].get("annotations", ()):
        return []
    if any(name in volume.get("spec", {}) for name in _SOURCES_WITH_MOUNT_OPTIONS):
        return []
    text = "may not specify mount options for this volume type"
    return [forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", text)]


def validate_volume_update(
    new: ReadOnlyObject, old: ReadOnlyObject, options: VolumeValidationOptions
) -> list[FieldError]:
    """Validate a change: the volume source is immutable."""
    spec, before = new.get("spec", {}), old.get("spec", {})
    errors: list[FieldError] = []
    after, stored = _volume_source(spec, before), _volume_source(before)
    if after != stored:
        difference = diff_internal_forms("PersistentVolumeSource", stored, after)
        text = f"spec.persistentvolumesource is immutable after creation\n{difference}"
        errors.append(forbidden("spec.persistentvolumesource", text))
    errors += validate_immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    if "nodeAffinity" in before and not options.allow_node_affinity_update:
        errors += _validate_node_affinity_update(spec.get("nodeAffinity"), before["nodeAffinity"])
    if spec.get("volumeAttributesClassName") != before.get("volumeAttributesClassName"):
        errors += _validate_attributes_class_update(spec, options)
    return errors


def _volume_source(spec: ReadOnlyObject, before: ReadOnlyObject | None = None) -> dict[str, Any]:
    """Return the volume source; with `before`, without an expansion secret that is added to it."""
    source = {name: spec[name] for name in _SOURCE_FIELDS if name in spec}
    # Volumes created before expansion was supported may get the secret that it needs.
    if before and "csi" in source and "csi" in before and _EXPAND_SECRET not in before["csi"]:
        source["csi"] = {name: value for name, value in source["csi"].items() if name != _EXPAND_SECRET}
    return source


def _validate_node_affinity_update(new: ReadOnlyObject | None, old: ReadOnlyObject) -> list[FieldError]:
    if new is not None and _with_ga_labels(new, new) == _with_ga_labels(old, new):
        return []
    # The path without `spec.` is upstream's.
    text = f"{IMMUTABLE}, except for updating from beta label to GA"
    return [invalid("nodeAffinity", to_internal_form("*VolumeNodeAffinity", new), text)]


def _with_ga_labels(affinity: ReadOnlyObject, model: ReadOnlyObject) -> list[Any]:
    """Return the terms, with beta labels replaced where the model has their GA labels."""
    terms, models = (each.get("required", {}).get("nodeSelectorTerms") or [] for each in (affinity, model))
    terms_with_ga_labels = []
    for i, term in enumerate(terms):
        model_expressions = models[i].get("matchExpressions", []) if i < len(models) else []
        keys = [requirement.get("key") for requirement in model_expressions]
        expressions = []
        for j, requirement in enumerate(term.get("matchExpressions", [])):
            modern = _GA_LABEL_BY_BETA_LABEL.get(requirement.get("key", ""))
            # Terms and requirements are paired by position, as upstream does: a reordered affinity counts as changed.
            replaced = modern is not None and j < len(keys) and keys[j] == modern
            expressions.append({**requirement, "key": modern} if replaced else requirement)
        terms_with_ga_labels.append((expressions, term.get("matchFields", [])))
    return terms_with_ga_labels


def _validate_attributes_class_update(spec: ReadOnlyObject, options: VolumeValidationOptions) -> list[FieldError]:
    at = "spec.volumeAttributesClassName"
    if not options.attributes_class:
        return [forbidden(at, "update is forbidden when the VolumeAttributesClass feature gate is disabled")]
    if "volumeAttributesClassName" not in spec:
        return [forbidden(at, "update from non-nil value to nil is forbidden")]
    return []


_DEPRECATED_ANNOTATIONS: Final = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
    _MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_NON_FUNCTIONAL_SOURCES: Final = {
    "cephfs": "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
}
_RECYCLE_WARNING: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)


def persistent_volume_warnings(volume: ReadOnlyObject) -> Iterator[str]:
    """Warn about deprecated fields, annotations and volume sources."""
    # upstream 1.36: pkg/api/persistentvolume/util.go
    spec, annotations = volume.get("spec", {}), volume["metadata"].get("annotations", {})
    for key, text in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE_WARNING
    terms = spec.get("nodeAffinity", {}).get("required", {}).get("nodeSelectorTerms") or ()
    for i, term in enumerate(terms):
        yield from get_node_selector_term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]")
    for name, text in _NON_FUNCTIONAL_SOURCES.items():
        if name in spec:
            yield text
