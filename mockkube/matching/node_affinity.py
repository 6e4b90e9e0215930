"""Required node affinity of a pod: both `nodeSelector` and the required terms must match.

upstream 1.36: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
"""

from collections.abc import Mapping

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_selectors import LabelOperator, Labels, NodeSelector, Report, compile_terms


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """Requirements of a pod on the labels and the name of its node."""

    # Labels of `nodeSelector`.
    labels: tuple[tuple[str, str], ...]
    # Required terms; None if the pod has no such field.
    selector: NodeSelector | None

    @property
    def is_empty(self) -> bool:
        """True if the pod requires nothing of its node."""
        return not self.labels and self.selector is None

    def matches(self, labels: Labels, node_name: str) -> bool:
        """Return whether a node matches."""
        for key, value in self.labels:
            if labels.get(key) != value:
                return False
        return self.selector is None or self.selector.matches(labels, node_name)


def compile_required_node_affinity(
    spec: ReadOnlyObject, operators: Mapping[str, LabelOperator], report: Report | None = None
) -> RequiredNodeAffinity:
    """Compile the required node affinity of a pod spec; terms that do not parse match nothing."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(REQUIRED)
    terms = () if required is None else required.get("nodeSelectorTerms") or ()
    # An empty list of terms differs from a missing field: it matches no node.
    selector = None if required is None else compile_terms(terms, operators, report=report)
    return RequiredNodeAffinity(tuple((spec.get("nodeSelector") or {}).items()), selector)
