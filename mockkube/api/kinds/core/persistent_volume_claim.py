"""Persistent volume claims: what is claimed stays, but for growth."""

# upstream 1.36: pkg/registry/core/persistentvolumeclaim/strategy.go, pkg/api/persistentvolumeclaim/util.go

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError
from mockkube.api.kinds.core.persistent_volume_claim_validation import (
    CLASS_ANNOTATION,
    attributes_class_enabled,
    claim_rules,
    validate_claim_change,
    validate_claim_spec,
    validate_claim_status,
)
from mockkube.api.kinds.core.pod.volumes.warnings import claim_spec_warnings
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.api.validation.metadata import validate_metadata

_CLASS: Final = "volumeAttributesClassName"
_SOURCE_FIELDS: Final = ("kind", "name", "apiGroup")


class PersistentVolumeClaimStrategy(Strategy):
    """The rules of claims."""

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Start pending, and say twice where the data comes from."""
        obj["status"] = {"phase": "Pending"}
        _prepare_spec(obj.get("spec", {}), {}, judge)

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the status, or through the subresource the spec."""
        if judge.subresource == "status":
            new["spec"] = old.get("spec", {})
            _drop_disabled_status(new.get("status", {}), old.get("status", {}), judge)
            return
        new["status"] = old.get("status", {})
        _prepare_spec(new.get("spec", {}), old.get("spec", {}), judge)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge what is claimed."""
        return validate_claim_spec(obj.get("spec", {}), "spec", claim_rules(judge.caps))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge a change; metadata is, as upstream's, looked at again."""
        rules = claim_rules(judge.caps, old)
        if judge.subresource == "status":
            return validate_claim_status(new, rules)
        found = validate_metadata(new, names.dns_subdomain, True)
        found += validate_claim_spec(new.get("spec", {}), "spec", rules)
        return found + validate_claim_change(new, old, rules)

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of what is deprecated, and of parts of bytes."""
        found = []
        if CLASS_ANNOTATION in obj["metadata"].get("annotations", ()):
            text = 'deprecated since v1.8; use "storageClassName" attribute instead'
            found.append(f"metadata.annotations[{CLASS_ANNOTATION}]: {text}")
        return [*found, *claim_spec_warnings(obj.get("spec", {}), "spec")]

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn as on creation; not of a status."""
        return [] if judge.subresource == "status" else self.warn_create(new, judge)


def _prepare_spec(spec: Object, before: ReadOnlyObject, judge: Judge) -> None:
    if not attributes_class_enabled(judge.caps) and _CLASS not in before:
        spec.pop(_CLASS, None)
    elsewhere = spec.get("dataSourceRef", {}).get("namespace")
    if elsewhere and "dataSourceRef" not in before and not judge.caps.enabled("CrossNamespaceVolumeDataSource"):
        del spec["dataSourceRef"]
    known = "dataSource" in before or "dataSourceRef" in before or "dataSourceRef" in spec
    if not known and not _is_volume_or_snapshot(spec.get("dataSource", {})):
        spec.pop("dataSource", None)
    _mirror_sources(spec)


def _is_volume_or_snapshot(source: ReadOnlyObject) -> bool:
    return (source.get("kind"), source.get("apiGroup") or "") in (
        ("PersistentVolumeClaim", ""),
        ("VolumeSnapshot", "snapshot.storage.k8s.io"),
    )


def _mirror_sources(spec: Object) -> None:
    """Say in the old field what the new one says, and the other way round."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {name: source[name] for name in _SOURCE_FIELDS if name in source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference[name] for name in _SOURCE_FIELDS if name in reference}


def _drop_disabled_status(status: Object, before: ReadOnlyObject, judge: Judge) -> None:
    if attributes_class_enabled(judge.caps):
        return
    for field in ("currentVolumeAttributesClassName", "modifyVolumeStatus"):
        if field not in before:
            status.pop(field, None)
