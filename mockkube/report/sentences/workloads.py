"""Descriptions of the nodes, workloads and preparations of a plan."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explain.fact_formatting import format_taint
from mockkube.explore.plans.plan import RolloutPlan, WrittenOrder
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals import scheduling_fields
from mockkube.report.wording import count_noun, join_words

_SIDES: Final = {"Gt": "above", "Lt": "below", "SemverGt": "above", "SemverLt": "below"}
_ROLLING: Final = ("deployment", "daemonset", "statefulset")


def format_ref(manifest: ReadOnlyObject) -> str:
    """Return `kind/name` of an object."""
    return f"{manifest['kind'].lower()}/{manifest['metadata']['name']}"


def describe_nodes(plan: RolloutPlan) -> Iterator[str]:
    """Yield a line for each node: labels and taints."""
    for index, node in enumerate(plan.nodes, 1):
        labels = ", ".join(f"{key}={value}" for key, value in node.labels.items())
        taints = join_words(f"`{format_taint(one)}`" for one in node.taints) if node.taints else "none"
        yield f"`node-{index}`{f' ({labels})' if labels else ''}: taint {taints}"


def describe_workloads(plan: RolloutPlan) -> Iterator[str]:
    """Yield a line for each workload: its pods and their constraints on nodes."""
    for manifest in plan.workload:
        part = scheduling_fields.pod_spec(manifest)
        wishes = join_words(_constraints(part.value)) if part is not None else ""
        yield f"`{format_ref(manifest)}`: {_describe_pods(manifest)}{f', {wishes}' if wishes else ''}"


def _describe_pods(manifest: ReadOnlyObject) -> str:
    spec = manifest.get("spec") or {}
    match manifest["kind"]:
        case "DaemonSet":
            return "a pod on each node that it tolerates"
        case "Pod":
            return "a pod without a controller"
        case "Job":
            return count_noun(int(spec.get("parallelism", 1)), "pod")
    return count_noun(int(spec.get("replicas", 1)), "pod")


def _constraints(spec: ReadOnlyObject) -> Iterator[str]:
    if tolerations := spec.get("tolerations"):
        yield f"tolerates {join_words(f'`{format_toleration(one)}`{explain_toleration(one)}' for one in tolerations)}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        expressions = [f"`{_format_expression(one)}`" for one in term.get("matchExpressions") or ()]
        yield f"needs a node with {join_words(expressions)}"
    for one in spec.get("topologySpreadConstraints") or ():
        policies = [f"{key}={one[key]}" for key in ("nodeTaintsPolicy", "nodeAffinityPolicy") if key in one]
        spread = f"`{one['topologyKey']}` with maxSkew {one['maxSkew']}"
        yield f"spread over {spread}{f' ({chr(44).join(policies)})' if policies else ''}"


def format_toleration(toleration: ReadOnlyObject) -> str:
    """Return a toleration in a line, as `key operator value:effect`."""
    if expression := toleration.get("expression"):
        return str(expression)
    words = [str(toleration[key]) for key in ("key", "operator", "value") if toleration.get(key)]
    return f"{' '.join(words)}{f':{effect}' if (effect := toleration.get('effect')) else ''}"


def explain_toleration(toleration: ReadOnlyObject) -> str:
    """Return in brackets which taints a Gt, Lt or semver toleration matches; empty for other operators."""
    side = _SIDES.get(toleration.get("operator", ""), "")
    return f" (taints `{toleration.get('key', '')}` with a value {side} {toleration.get('value', '')})" if side else ""


def _format_expression(one: ReadOnlyObject) -> str:
    return f"{one['key']} {one['operator']} {','.join(one.get('values') or ())}".strip()


@dataclass(frozen=True, slots=True)
class Preparation:
    """Changes to the workloads before the first component changes back."""

    written: WrittenOrder
    lines: Sequence[str]
    """The changes, a line for each."""
    untouched: Sequence[str]
    """Workloads that are not changed."""
    manifest: str
    """The changes as steps of a scenario, in YAML."""
    values: str = ""
    """A sentence about the values that are tolerated one by one; empty if there are none."""

    @property
    def rollout_commands(self) -> Sequence[str]:
        """Commands that wait for the rollouts which the changes start."""
        refs = dict.fromkeys(_format_patch_ref(one["patch"]) for one in self.written.prepare if "patch" in one)
        return [f"`kubectl rollout status {ref}`" for ref in refs if ref.partition("/")[0] in _ROLLING]


def find_preparation(plan: RolloutPlan, name: str) -> Preparation | None:
    """Return the preparation of the written order with this name; None if there is none."""
    written = next((one for one in plan.orders if one.name == name and one.prepare), None)
    if written is None:
        return None
    refs = [_format_patch_ref(one["patch"]) for one in written.prepare if "patch" in one]
    untouched = [format_ref(one) for one in plan.workload if format_ref(one) not in refs]
    steps = [_to_plain(one) for one in written.prepare]
    # Workloads with the same change share a line.
    gathered: dict[str, list[str]] = {}
    for one in steps:
        action, target = _describe_action(plan, one)
        gathered.setdefault(action, []).append(target)
    lines = [f"{join_words(f'`{name}`' for name in names)}: {action}" for action, names in gathered.items()]
    return Preparation(written, lines, untouched, to_yaml(steps), _explain_values(plan, steps))


def _explain_values(plan: RolloutPlan, steps: Sequence[Mapping[str, Any]]) -> str:
    """Say where the values come from that are tolerated one by one."""
    listed_ones = [
        one
        for step in steps
        for one in _tolerations(step.get("patch", {}).get("patch", {}))
        if one.get("operator", "Equal") == "Equal" and one.get("value")
    ]
    if not listed_ones:
        return ""
    wanted = dict.fromkeys(str(one["value"]) for one in listed_ones)
    # Values that no node has now can only come from a disturbance.
    had = {str(taint.get("value", "")) for node in plan.nodes for taint in node.taints}
    now, later = [value for value in wanted if value in had], [value for value in wanted if value not in had]
    text = f"{join_words(now)}, which nodes have" if now else ""
    text += f"{', and ' if now else ''}{join_words(later)}, which a disturbance sets" if later else ""
    return f" Write one `Equal` for *every* value that your nodes have or may get: here {text}."


def _tolerations(patch: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the tolerations in a patch, at any depth."""
    for key, value in patch.items() if isinstance(patch, Mapping) else ():
        if key == "tolerations":
            yield from value or ()
        else:
            yield from _tolerations(value)


def _describe_action(plan: RolloutPlan, action: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a step does, and the object that it changes."""
    [(verb, arguments)] = action.items()
    if verb != "patch" or not isinstance(arguments, Mapping) or not arguments.get("ref"):
        return f"`{to_yaml(arguments).strip()}`", verb
    ref = _format_patch_ref(arguments)
    before = next((one for one in plan.workload if format_ref(one) == ref), None)
    old = scheduling_fields.pod_spec(before) if before else None
    new = scheduling_fields.pod_spec({**before, **arguments["patch"]}) if before else None
    if old is None or new is None:
        return "patched", ref
    return f"{'; '.join(_describe_changes(old.value, new.value))}", ref


def _describe_changes(old: ReadOnlyObject, new: ReadOnlyObject) -> Iterator[str]:
    for key in new:
        if key == "tolerations":
            old_text, new_text = (
                join_words(f"`{format_toleration(one)}`" for one in spec.get(key) or ()) for spec in (old, new)
            )
            yield f"the toleration {old_text or 'it had'} is replaced by {new_text or 'none'}"
        elif new[key] is not None:
            yield f"`{key}` is replaced"
        elif key in old:
            yield f"`{key}` is taken out"


def _format_patch_ref(patch: Mapping[str, Any]) -> str:
    ref = patch.get("ref")
    if isinstance(ref, Mapping):
        return f"{str(ref.get('kind', '')).lower()}/{ref.get('name', '')}"
    kind, _, name = str(ref or "").partition("/")
    return f"{kind.lower()}/{name}"


# SafeDumper knows dict and list only, but plans hold read-only mappings and tuples.
def _to_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _to_plain(item) for key, item in value.items()}
    return [_to_plain(item) for item in value] if isinstance(value, list | tuple) else value


class _DumperWithoutAliases(yaml.SafeDumper):
    """Dumper that writes repeated values in full, so that each part can be copied alone."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def to_yaml(value: Any) -> str:
    """Return data as YAML, without anchors."""
    return str(
        yaml.dump(_to_plain(value), Dumper=_DumperWithoutAliases, sort_keys=False, width=100, allow_unicode=True)
    )


def to_yaml_line(action: Mapping[str, Any]) -> str:
    """Return a step of a scenario as YAML in a line."""
    text = yaml.dump(
        _to_plain(action), Dumper=_DumperWithoutAliases, default_flow_style=True, sort_keys=False, width=1000
    )
    return str(text).strip().removeprefix("{").removesuffix("}")
