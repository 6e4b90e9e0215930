"""Functions that templates of stages may call: KWOK's own, and the useful part of Masterminds' sprig.

upstream: github.com/kubernetes-sigs/kwok, pkg/utils/gotpl/funcs.go, pkg/kwok/controllers/{node,pod}_controller.go
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.times import render_time
from mockkube.kubelet.stages.gotemplate import GoTemplate
from mockkube.kubelet.stages.gotemplate_pipeline import Function
from mockkube.kubelet.stages.sprig import SPRIG_FUNCTIONS
from mockkube.lazy_dataclasses import dataclass

_CONDITIONS: Final = [
    {"type": kind, "status": status, "reason": reason, "message": message}
    for kind, status, reason, message in (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
]
KUBELET_PORT: Final = 10250


@dataclass(frozen=True, slots=True)
class TemplateDependencies:
    """Dependencies of template functions: time, IPs of nodes and pods, kubelet version."""

    get_now: Callable[[], datetime]
    # IP of a node by name.
    get_node_ip: Callable[[str], str]
    # IP of a pod by node name and pod uid.
    get_pod_ip: Callable[[str, str], str]
    version: str


class TemplateFactory:
    """Compiles templates with functions that read the object being rendered, `obj`."""

    def __init__(self, dependencies: TemplateDependencies) -> None:
        self.obj: ReadOnlyObject = {"metadata": {"name": ""}}
        self._dependencies = dependencies
        # KWOK's StartTime is when its controller started, the same in all templates.
        self._start_time = render_time(dependencies.get_now())
        self._functions: Mapping[str, Function] = {**SPRIG_FUNCTIONS, **self._make_functions()}

    def compile_template(self, text: str) -> GoTemplate:
        """Compile a template."""
        return GoTemplate(text.strip(), self._functions)

    def _make_functions(self) -> dict[str, Function]:
        return {
            "Now": lambda: render_time(self._dependencies.get_now()),
            "StartTime": lambda: self._start_time,
            "Version": lambda: self._dependencies.version,
            "Quote": quote,
            "YAML": _format_yaml,
            "NodeConditions": lambda: _CONDITIONS,
            "NodePort": lambda: KUBELET_PORT,
            "NodeName": self._get_node_name,
            "NodeIP": lambda: self._dependencies.get_node_ip(self._get_node_name()),
            "NodeIPs": lambda: [self._dependencies.get_node_ip(self._get_node_name())],
            "NodeIPWith": lambda name: self._dependencies.get_node_ip(name or ""),
            "NodeIPsWith": lambda name: [self._dependencies.get_node_ip(name or "")],
            "PodIP": lambda: self._get_pod_ip(self._get_node_name()),
            "PodIPWith": self._get_pod_ip,
            "PodIPsWith": lambda *given: [self._get_pod_ip(*given)],
        }

    def _get_node_name(self) -> str:
        """Return the node of the rendered object: the node itself, or that of a pod."""
        placed: str = (self.obj.get("spec") or {}).get("nodeName") or ""
        return placed or str(self.obj["metadata"]["name"])

    def _get_pod_ip(self, node: str = "", on_host: bool = False, uid: str = "", *names: str) -> str:
        if on_host:
            return self._dependencies.get_node_ip(node or "")
        return self._dependencies.get_pod_ip(node or "", uid or self.obj["metadata"].get("uid", ""))


def quote(value: Any) -> str:
    """Return a value in quotes; a value that is no string is quoted as JSON."""
    return json.dumps(value if isinstance(value, str) else json.dumps(value, separators=(",", ":")), ensure_ascii=False)


def _format_yaml(value: Any, indent: int = 0) -> str:
    from mockkube.kubelet.stages import yaml_text  # with PyYAML, when the first template needs it

    text = yaml_text.format_yaml(value)
    return f"\n{text}".replace("\n", "\n" + "  " * indent) if indent > 0 else text
