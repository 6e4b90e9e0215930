"""Feature gates with which components of a dump start: in static pods, and in the ConfigMap of the kubelets."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.printers.accessors import elements, section, sections, string
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER

_FLAG: Final = "--feature-gates="
_STATIC_PODS: Final = (API_SERVER, CONTROLLER_MANAGER, SCHEDULER)
_KUBELET_CONFIG: Final = ("ConfigMap", "kube-system", "kubelet-config")


def find_gates(objects: Iterable[ReadOnlyObject]) -> dict[str, dict[str, bool]]:
    """Return the gates by component, as far as the objects say."""
    found: dict[str, dict[str, bool]] = {}
    for obj in objects:
        metadata = obj["metadata"]
        if metadata.get("namespace") != "kube-system":
            continue
        component = (metadata.get("labels") or {}).get("component")
        if obj["kind"] == "Pod" and component in _STATIC_PODS:
            found.setdefault(str(component), {}).update(_parse_flags(list_arguments(obj)))
        elif (obj["kind"], "kube-system", metadata["name"]) == _KUBELET_CONFIG:
            found.setdefault(KUBELET, {}).update(_parse_kubelet_config(obj))
    return found


def list_arguments(pod: ReadOnlyObject) -> Iterator[str]:
    """Yield the words of the command lines of a pod."""
    for container in sections(pod, "spec", "containers"):
        yield from map(str, (*elements(container, "command"), *elements(container, "args")))


def _parse_flags(words: Iterable[str]) -> dict[str, bool]:
    texts = [word.removeprefix(_FLAG) for word in words if word.startswith(_FLAG)]
    pairs = [pair.partition("=") for text in texts for pair in text.split(",")]
    return {name.strip(): value.strip().lower() == "true" for name, _, value in pairs if name and value}


def _parse_kubelet_config(config_map: ReadOnlyObject) -> dict[str, bool]:
    gates = section(load_kubelet_config(config_map) or {}, "featureGates")
    return {str(name): value for name, value in gates.items() if isinstance(value, bool)}


def load_kubelet_config(config_map: ReadOnlyObject) -> dict[str, Any] | None:
    """Return the KubeletConfiguration of kubeadm's ConfigMap; None if it cannot be read."""
    try:
        loaded = bounded_yaml.load(string(config_map, "data", "kubelet"))
    except yaml.YAMLError:
        return None
    return loaded if isinstance(loaded, dict) else None
