"""Placement of daemon pods: eligible nodes, tolerations, and the pod template with node affinity.

upstream 1.36: pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod), daemon/util/daemonset_util.go
"""

from collections.abc import Mapping, Sequence
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import REQUIRED
from mockkube.controllers.pods.template_hash import HASH_LABEL
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.node_affinity import RequiredNodeAffinity, compile_required_node_affinity
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import CompiledToleration, TaintRules, compile_tolerations, find_untolerated

GENERATION_LABEL: Final = "pod-template-generation"
GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_NAME: Final = "metadata.name"
_ALWAYS_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_TOLERATED_ON_HOST: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeFit:
    """Eligibility of a node: for a new daemon pod, and for one that runs there."""

    should_run: bool
    should_continue: bool


@dataclass(frozen=True, slots=True)
class DaemonPlacement:
    """Node requirements of a set, compiled with the rules of one controller manager."""

    node_name: str
    affinity: RequiredNodeAffinity
    tolerations: Sequence[CompiledToleration]

    def check_node(self, node: ReadOnlyObject) -> NodeFit:
        """Return whether a node should run a pod of the set, and may keep one."""
        name = node["metadata"]["name"]
        labels: Mapping[str, str] = node["metadata"].get("labels") or {}
        if self.node_name not in ("", name) or not self.affinity.matches(labels, name):
            return NodeFit(should_run=False, should_continue=False)
        taints = (node.get("spec") or {}).get("taints") or ()
        if find_untolerated(taints, self.tolerations, ("NoExecute", "NoSchedule")) is None:
            return NodeFit(should_run=True, should_continue=True)
        # A NoSchedule taint keeps new pods away but does not remove running ones.
        return NodeFit(
            should_run=False, should_continue=find_untolerated(taints, self.tolerations, ("NoExecute",)) is None
        )


def compile_placement(
    daemon_set: ReadOnlyObject, rules: TaintRules, operators: Mapping[str, LabelOperator]
) -> DaemonPlacement:
    """Compile the node requirements of a set."""
    spec = daemon_set["spec"]["template"]["spec"]
    return DaemonPlacement(
        spec.get("nodeName", ""),
        compile_required_node_affinity(spec, operators),
        compile_tolerations(daemon_tolerations(spec), rules),
    )


def daemon_tolerations(spec: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the tolerations of a daemon pod: those of the template and those of all daemons."""
    tolerations: list[ReadOnlyObject] = list(spec.get("tolerations") or ())
    added = list(_ALWAYS_TOLERATED)
    if spec.get("hostNetwork"):
        added.append(_TOLERATED_ON_HOST)
    for key, effect in added:
        wanted = {"key": key, "operator": "Exists", "effect": effect}
        same = [index for index, one in enumerate(tolerations) if _is_same_toleration(one, wanted)]
        # As upstream's AddOrUpdateTolerationInPodSpec: tolerationSeconds of the user are overwritten, for daemons stay
        # for ever.
        if same:
            tolerations[same[0]] = wanted
        else:
            tolerations.append(wanted)
    return tolerations


def _is_same_toleration(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Return whether two tolerations differ at most in their seconds."""
    return all(one.get(name, "") == other.get(name, "") for name in ("key", "effect", "operator", "value"))


def daemon_template(daemon_set: ReadOnlyObject, revision_hash: str) -> Object:
    """Return the pod template of a set, with the hash label of its revision."""
    template = daemon_set["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = dict(metadata.get("labels") or {})
    if generation := template_generation(daemon_set):
        labels[GENERATION_LABEL] = generation
    if revision_hash:
        labels[HASH_LABEL] = revision_hash
    spec = {**template["spec"], "tolerations": daemon_tolerations(template["spec"])}
    return {**template, "metadata": {**metadata, "labels": labels}, "spec": spec}


def template_generation(daemon_set: ReadOnlyObject) -> str:
    """Return the deprecated template generation; empty unless it is a number."""
    text: str = (daemon_set["metadata"].get("annotations") or {}).get(GENERATION_ANNOTATION, "")
    return text if text.removeprefix("-").isdecimal() else ""


def pin_to_node(affinity: ReadOnlyObject | None, node_name: str) -> Object:
    """Return an affinity that requires one node in place of other required node terms."""
    affinity = affinity or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    # matchFields on the name selects exactly this node. Required terms of the template were checked when the node was
    # chosen.
    terms = [{"matchFields": [{"key": _NAME, "operator": "In", "values": [node_name]}]}]
    required = {**(node_affinity.get(REQUIRED) or {}), "nodeSelectorTerms": terms}
    return {**affinity, "nodeAffinity": {**node_affinity, REQUIRED: required}}


def target_node(pod: ReadOnlyObject) -> str:
    """Return the node that a daemon pod is bound or pinned to; empty if there is none."""
    spec = pod["spec"]
    if name := spec.get("nodeName"):
        return str(name)
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == _NAME and field.get("operator") == "In":
                values = field.get("values") or ()
                return "".join(values) if len(values) == 1 else ""
    return ""
