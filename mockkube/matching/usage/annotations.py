"""Annotations that say what pods, nodes and workloads use.

On a pod (or the pod template of a workload), `mockkube.dev/usage-cpu` and `mockkube.dev/usage-memory` hold what the pod
uses, a load curve over its age: `250m`, `100m@0s 500m@10m`. `app=250m,proxy=20m` gives it by container. On a node they
replace the sum of its pods. On a Deployment or another workload, `mockkube.dev/load-cpu` and `mockkube.dev/load-memory`
are shared by its ready pods. `kwok.x-k8s.io/usage-cpu` and `-memory` are what each container uses, as KWOK reads them.
"""

from collections.abc import Mapping
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.usage.load_curve import LoadCurve, parse_load_curve

RESOURCES: Final = ("cpu", "memory")
USAGE_PREFIX: Final = "mockkube.dev/usage-"
LOAD_PREFIX: Final = "mockkube.dev/load-"
# upstream kwok 0.7: kustomize/metrics/usage/usage-from-annotation.yaml
KWOK_PREFIX: Final = "kwok.x-k8s.io/usage-"


@dataclass(frozen=True, slots=True)
class UsageAnnotation:
    """Usage of one resource by a pod: of the pod as a whole, or by container."""

    whole: LoadCurve | None = None
    by_container: Mapping[str, LoadCurve] | None = None
    each: LoadCurve | None = None
    """Usage of each container."""

    def get_of_container(self, name: str) -> LoadCurve | None:
        """Return the usage that is given for a container itself."""
        return self.each if self.by_container is None else self.by_container.get(name)


@dataclass(frozen=True, slots=True)
class ParsedAnnotations:
    """Usage by resource, and errors of annotations that cannot be parsed, which are ignored."""

    usage: Mapping[str, UsageAnnotation]
    errors: tuple[str, ...] = ()


def parse_usage_annotations(obj: ReadOnlyObject) -> ParsedAnnotations:
    """Parse the annotations of a pod."""
    annotations = obj["metadata"].get("annotations") or {}
    usage, errors = dict[str, UsageAnnotation](), list[str]()
    for resource in RESOURCES:
        for prefix in (USAGE_PREFIX, KWOK_PREFIX):
            text = annotations.get(f"{prefix}{resource}")
            if text is None or resource in usage:
                continue
            try:
                usage[resource] = _parse_usage(text) if prefix == USAGE_PREFIX else _parse_kwok_usage(text)
            except ValueError as error:
                errors.append(f"{prefix}{resource}: {error}")
    return ParsedAnnotations(usage, tuple(errors))


def parse_curves(obj: ReadOnlyObject, prefix: str) -> Mapping[str, LoadCurve]:
    """Return the curves of annotations with a prefix by resource, without those that cannot be parsed."""
    annotations = obj["metadata"].get("annotations") or {}
    curves = {}
    for resource in RESOURCES:
        if (text := annotations.get(f"{prefix}{resource}")) is not None:
            try:
                curves[resource] = parse_load_curve(text)
            except ValueError:
                continue
    return curves


def find_annotation_errors(obj: ReadOnlyObject) -> list[str]:
    """Return what is wrong with the annotations of a pod, node or workload."""
    annotations = obj["metadata"].get("annotations") or {}
    errors = [*parse_usage_annotations(obj).errors]
    for resource in RESOURCES:
        if (text := annotations.get(f"{LOAD_PREFIX}{resource}")) is not None:
            try:
                parse_load_curve(text)
            except ValueError as error:
                errors.append(f"{LOAD_PREFIX}{resource}: {error}")
    return errors


def _parse_usage(text: str) -> UsageAnnotation:
    if "=" not in text:
        return UsageAnnotation(whole=parse_load_curve(text))
    found = {}
    for part in text.split(","):
        name, equals, curve = part.strip().partition("=")
        if not equals:
            raise ValueError(f"{text!r}: {part.strip()!r} names no container: write app=250m,proxy=20m")
        found[name.strip()] = parse_load_curve(curve)
    return UsageAnnotation(by_container=found)


def _parse_kwok_usage(text: str) -> UsageAnnotation:
    return UsageAnnotation(each=parse_load_curve(text))
