"""What a pod asks of its node: `nodeSelector` and the required terms of its node affinity, both of which must hold.

upstream 1.36: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mockkube.api.types import ReadOnlyObject
from mockkube.api.validation.affinity import REQUIRED
from mockkube.matching.node_selectors import LabelOperator, Labels, NodeSelector, Report, compile_terms


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """What a pod requires of the labels and the name of its node."""

    labels: tuple[tuple[str, str], ...]
    """What `nodeSelector` names."""
    selector: NodeSelector | None
    """The required terms; None when there is no such field."""

    @property
    def empty(self) -> bool:
        """Whether nothing is required."""
        return not self.labels and self.selector is None

    def matches(self, labels: Labels, node_name: str) -> bool:
        """Whether a node will do."""
        for key, value in self.labels:
            if labels.get(key) != value:
                return False
        return self.selector is None or self.selector.matches(labels, node_name)


def required_node_affinity(
    spec: ReadOnlyObject, operators: Mapping[str, LabelOperator], report: Report | None = None
) -> RequiredNodeAffinity:
    """Compile what the spec of a pod requires; terms that do not parse select nothing."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED)
    terms = () if required is None else required.get("nodeSelectorTerms") or ()
    selector = None if required is None else compile_terms(terms, operators, report=report)
    return RequiredNodeAffinity(tuple((spec.get("nodeSelector") or {}).items()), selector)
