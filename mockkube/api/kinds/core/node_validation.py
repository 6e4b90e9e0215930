"""Validate nodes: taints, resources, pod CIDRs, declared features, configuration sources.

upstream 1.36: pkg/apis/core/validation/validation.go, ValidateNode and ValidateNodeUpdate
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mockkube.api import names
from mockkube.api.decoding.go_json_errors import find_syntax_error
from mockkube.api.fields import FieldError, duplicate, forbidden, internal, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.resources import validate_resource_quantity
from mockkube.api.kinds.core.pod.tolerations import validate_taint_effect
from mockkube.api.validation.addresses import parse_cidr, validate_cidr_for_legacy_field
from mockkube.api.validation.internal_form import to_internal_form
from mockkube.api.validation.labels import validate_label_name

TAINTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/taints"
PREFER_AVOID_PODS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_FEATURE_NAME: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_NAME_DETAIL: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_ONE_REFERENCE_DETAIL: Final = "exactly one reference subfield must be non-nil"


def validate_node(node: ReadOnlyObject, *, strict_addresses: bool) -> list[FieldError]:
    """Validate a node except its metadata."""
    spec, status = node.get("spec", {}), node.get("status", {})
    errors = _validate_annotations(node["metadata"].get("annotations", {}))
    if "taints" in spec:
        # The path `metadata.taints` is upstream's, here and below.
        errors += validate_taints(spec["taints"], "metadata.taints")
    errors += _validate_resources(status)
    capacity = status.get("nodeInfo", {}).get("swap", {}).get("capacity")
    if capacity is not None and capacity <= 0:
        errors.append(invalid("metadata.nodeSwapStatus.capacity", capacity, "must be greater than zero"))
    errors += _validate_features(status.get("declaredFeatures", ()))
    if "podCIDRs" in spec:
        errors += _validate_pod_cidrs(spec["podCIDRs"], strict_addresses)
    return errors


def _validate_annotations(annotations: Mapping[str, str]) -> list[FieldError]:
    """Validate the legacy annotations for taints and for pods to avoid."""
    at = "metadata.annotations"
    errors: list[FieldError] = []
    if text := annotations.get(TAINTS_ANNOTATION):
        taints = _parse_annotation(text)
        if isinstance(taints, str):
            errors.append(invalid(at, TAINTS_ANNOTATION, taints))
        else:
            errors += validate_taints(taints or (), f"{at}.{TAINTS_ANNOTATION}")
    if text := annotations.get(PREFER_AVOID_PODS_ANNOTATION):
        avoided = _parse_annotation(text)
        if isinstance(avoided, str):
            errors.append(invalid(f"{at}.AvoidPods", PREFER_AVOID_PODS_ANNOTATION, avoided))
        else:
            errors += _validate_avoid_pods(avoided, f"{at}.{PREFER_AVOID_PODS_ANNOTATION}")
    return errors


def _parse_annotation(text: str) -> Any:
    """Return the JSON value of an annotation, or the error message if it has none."""
    try:
        value = json.loads(text)
    except ValueError:
        return find_syntax_error(text.encode())
    # A string is an error in Go; it must not be taken for a message here, since messages are strings, too.
    return "json: cannot unmarshal string into Go value" if isinstance(value, str) else value


def _validate_avoid_pods(avoided: Any, at: str) -> list[FieldError]:
    entries = avoided.get("preferAvoidPods") or () if isinstance(avoided, dict) else ()
    errors = []
    for i, entry in enumerate(entries):
        controller = (entry.get("podSignature") or {}).get("podController")
        if controller is None:
            errors.append(required(f"{at}[{i}].PodSignature"))
        elif not controller.get("controller"):
            here = f"{at}[{i}].PodSignature.PodController.Controller"
            errors.append(invalid(here, False, "must point to a controller"))
    return errors


def _validate_resources(status: ReadOnlyObject) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("capacity", "allocatable"):
        for name, amount in status.get(kind, {}).items():
            errors += validate_resource_quantity(name, amount, f"status.{kind}.{name}")
    return errors


def _validate_features(features: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, name in enumerate(features):
        at = f"status.declaredFeatures[{i}]"
        if i and features[i - 1] == name:
            errors.append(duplicate(at, name))
        # The list must be sorted, so that comparing neighbors finds every duplicate.
        elif i and features[i - 1] > name:
            errors.append(invalid(at, name, "list must be sorted alphabetically"))
        if text := _find_feature_error(name):
            errors.append(invalid(at, name, f'invalid feature name "{name}": {text}'))
    return errors


def _find_feature_error(name: str) -> str:
    if names.byte_length(name) > names.SUBDOMAIN_LENGTH_MAX:
        return f"must be no more than {names.SUBDOMAIN_LENGTH_MAX} characters"
    return "" if _FEATURE_NAME.fullmatch(name) else _FEATURE_NAME_DETAIL


def _validate_pod_cidrs(ranges: Sequence[str], strict_addresses: bool) -> list[FieldError]:
    at = "spec.podCIDRs"
    errors: list[FieldError] = []
    for i, value in enumerate(ranges):
        errors += validate_cidr_for_legacy_field(value, f"{at}[{i}]", strict=strict_addresses)
    if len(ranges) < 2:
        return errors
    parsed = [parse_cidr(value) for value in ranges]
    if None in parsed:
        bad = parsed.index(None)
        error = f"invalid CIDR[{bad}]: <nil> (invalid CIDR address: {ranges[bad]})"
        errors.append(internal(at, f"invalid PodCIDRs. failed to check with dual stack with error:{error}"))
    families = {network.version for network in parsed if network is not None}
    # A range that cannot be parsed is reported here once more, as upstream does.
    if None in parsed or len(families) < 2 or len(ranges) > 2:
        errors.append(invalid(at, ranges, "may specify no more than one CIDR for each IP family"))
    return errors


def validate_node_update(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    """Validate a change of a node, by any resource, except its metadata."""
    spec, status, before = new.get("spec", {}), new.get("status", {}), old.get("spec", {})
    errors = _validate_annotations(new["metadata"].get("annotations", {}))
    errors += _validate_resources(status)
    errors += _validate_features(status.get("declaredFeatures", ()))
    errors += _validate_addresses(status.get("addresses", ()))
    errors += _validate_pod_cidrs_update(spec.get("podCIDRs", ()), before.get("podCIDRs", ()))
    # The cloud provider sets providerID once the node has registered itself, so only the first value is free.
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        text = 'node updates may not change providerID except from "" to valid'
        errors.append(forbidden("spec.providerID", text))
    if "configSource" in spec:
        errors += _validate_config_source(spec["configSource"], "spec.configSource", _validate_spec_source)
    for kind in ("assigned", "active", "lastKnownGood"):
        source = status.get("config", {}).get(kind)
        if source is not None:
            errors += _validate_config_source(source, f"status.config.{kind}", _validate_status_source)
    if "taints" in spec:
        errors += validate_taints(spec["taints"], "metadata.taints")
    if spec.get("externalID") != before.get("externalID"):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def _validate_addresses(addresses: Sequence[ReadOnlyObject]) -> list[FieldError]:
    errors = []
    seen: set[tuple[str, str]] = set()
    for i, address in enumerate(addresses):
        key = (address.get("type", ""), address.get("address", ""))
        if key in seen:
            errors.append(duplicate(f"status.addresses[{i}]", to_internal_form("NodeAddress", address)))
        seen.add(key)
    return errors


def _validate_pod_cidrs_update(new: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    error = forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if not old:
        return []
    if len(new) != len(old):
        return [error]
    return [error for wanted, stored in zip(new, old, strict=True) if wanted != stored]


def _validate_config_source(
    source: ReadOnlyObject, at: str, check: Callable[[ReadOnlyObject, str], list[FieldError]]
) -> list[FieldError]:
    if "configMap" not in source:
        return [invalid(at, to_internal_form("NodeConfigSource", source), _ONE_REFERENCE_DETAIL)]
    return check(source["configMap"], f"{at}.configMap")


def _validate_spec_source(source: ReadOnlyObject, at: str) -> list[FieldError]:
    fields = [name for name in ("uid", "resourceVersion") if source.get(name)]
    errors = [forbidden(f"{at}.{name}", f"{name} must not be set in spec") for name in fields]
    return errors + _validate_config_map(source, at)


def _validate_status_source(source: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = [required(f"{at}.{name}") for name in ("uid", "resourceVersion") if not source.get(name)]
    return errors + _validate_config_map(source, at)


def _validate_config_map(source: ReadOnlyObject, at: str) -> list[FieldError]:
    checks: dict[str, Callable[[str], list[str]]] = {
        "namespace": names.check_dns_label,
        "name": names.check_dns_subdomain,
        "kubeletConfigKey": names.check_config_map_key,
    }
    errors: list[FieldError] = []
    for name, check in checks.items():
        if value := source.get(name):
            errors += [invalid(f"{at}.{name}", value, text) for text in check(value)]
        else:
            errors.append(required(f"{at}.{name}"))
    return errors


def validate_taints(taints: Sequence[ReadOnlyObject], at: str) -> list[FieldError]:
    """Validate taints: each field, and one taint for each key and effect."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        here, key, value, effect = f"{at}[{i}]", *(taint.get(name, "") for name in ("key", "value", "effect"))
        errors += validate_label_name(key, f"{here}.key")
        if texts := names.check_label_value(value):
            errors.append(invalid(f"{here}.value", value, ";".join(texts)))
        errors += validate_taint_effect(effect, f"{here}.effect") if effect else [required(f"{here}.effect")]
        if (effect, key) in seen:
            text = "taints must be unique by key and effect pair"
            errors.append(duplicate(here, to_internal_form("Taint", taint), text))
        seen.add((effect, key))
    return errors
