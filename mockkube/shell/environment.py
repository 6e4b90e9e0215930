"""Environment of a container: variables, directories and host name.

upstream 1.36: pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables), third_party/forked/golang/expansion
"""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING
from typing import Final

from mockkube.api.quantities.quantity import parse
from mockkube.api.types import ReadOnlyObject
from mockkube.shell.machine import UNKNOWN, ContainerEnvironment

Lookup = Callable[[str, str, str], ReadOnlyObject | None]
"""Returns an object by kind, namespace and name."""
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]*)\))")
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]$")
_FIELD_PATHS: Final = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
}
_VALUE_MAX: Final = 128 * 1024
"""Length of one argument or variable that Linux passes to a program; what would be longer is not expanded."""
_VALUES_MAX: Final = 2 * 1024 * 1024
"""Length of all together."""
_LIST_FIELDS: Final = {"status.hostIPs": "hostIPs", "status.podIPs": "podIPs"}
_DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class ContainerStart:
    """One run of a container: its number, its start time, and a lookup for objects its pod refers to."""

    run: int = 0
    began: datetime | None = None
    lookup: Lookup = lambda kind, namespace, name: None


def expand_references(text: str, variables: Mapping[str, str], length_max: int = _VALUE_MAX) -> str:
    """Return a text with `$(NAME)` replaced for known names; `$$` becomes `$`.

    References that would make it longer than `length_max` stay: variables can double one another.
    """
    length = len(text)

    def value(found: re.Match[str]) -> str:
        nonlocal length
        replaced = "$" if found[1] is None else variables.get(found[1], found[0])
        longer = len(replaced) - len(found[0])
        if longer > 0 and length + longer > length_max:
            return found[0]
        length += longer
        return replaced

    return _REFERENCE.sub(value, text)


def expand_words(words: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    """Return words with their references replaced, as far as all of them together are not too long."""
    expanded, room = list[str](), _VALUES_MAX
    for word in words:
        expanded.append(expand_references(word, variables, min(room, _VALUE_MAX)))
        room -= len(expanded[-1])
    return expanded


def build_environment(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart) -> ContainerEnvironment:
    """Return the environment of one run of a container."""
    metadata, spec = pod["metadata"], pod["spec"]
    # upstream: without a hostname of its own a pod's name is cut to 63 characters, the limit of Linux.
    hostname = (spec.get("nodeName") if spec.get("hostNetwork") else spec.get("hostname")) or metadata["name"][:63]
    variables = {"PATH": _DEFAULT_PATH, "HOSTNAME": hostname, "HOME": "/root"}
    has_unknown = False
    for source in container.get("envFrom") or ():
        found = _read_env_from(source, metadata["namespace"], start.lookup)
        has_unknown = has_unknown or found is None
        variables |= found or {}
    room = _VALUES_MAX
    for one in container.get("env") or ():
        if (value := _resolve_value(one, pod, container, variables, start.lookup, min(room, _VALUE_MAX))) is not None:
            variables[one["name"]] = value
            room -= len(value)
    empty, foreign = _classify_directories(pod, container)
    return ContainerEnvironment(
        variables=variables,
        has_unknown_variables=has_unknown,
        hostname=hostname,
        started_at=start.began,
        empty_directories=empty,
        unknown_directories=foreign,
        stdin=bool(container.get("stdin")),
        seed=f"{metadata.get('uid', '')}/{container['name']}/{start.run}",
    )


def _read_env_from(source: ReadOnlyObject, namespace: str, lookup: Lookup) -> dict[str, str] | None:
    """Return the variables of an `envFrom` source; None if they are not known."""
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if field in source:
            found = lookup(kind, namespace, source[field].get("name", ""))
            if found is None:
                return None
            return {f"{source.get('prefix', '')}{name}": text for name, text in _read_data(found).items()}
    return None


def _read_data(obj: ReadOnlyObject) -> dict[str, str]:
    """Return the data of a config map or, decoded, of a secret."""
    data = obj.get("data") or {}
    if obj.get("kind") != "Secret":
        return dict(data)
    decoded = ((name, base64.b64decode(text).decode(errors="replace")) for name, text in data.items())
    return dict(decoded)


def _resolve_value(
    one: ReadOnlyObject,
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    variables: Mapping[str, str],
    lookup: Lookup,
    length_max: int,
) -> str | None:
    """Return the value of a variable; None if it is unset."""
    source = one.get("valueFrom")
    if not source:
        return expand_references(one.get("value", ""), variables, length_max)
    if (field := source.get("fieldRef")) is not None:
        return _resolve_field(pod, field["fieldPath"])
    if (resource := source.get("resourceFieldRef")) is not None:
        return _resolve_resource(pod, container, resource, lookup)
    for name, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if (key := source.get(name)) is not None:
            found = lookup(kind, pod["metadata"]["namespace"], key.get("name", ""))
            if found is None:
                return UNKNOWN
            # A missing key of an existing object is unset only if it is optional; otherwise the container would not
            # have started.
            return _read_data(found).get(key["key"], None if key.get("optional") else UNKNOWN)
    return UNKNOWN


def _resolve_field(pod: ReadOnlyObject, path: str) -> str:
    if (found := _SUBSCRIPT.match(path)) is not None:
        return str((pod["metadata"].get(found[1]) or {}).get(found[2], ""))
    if path in _LIST_FIELDS:
        listed = (pod.get("status") or {}).get(_LIST_FIELDS[path]) or ()
        return ",".join(one["ip"] for one in listed) or UNKNOWN
    if path not in _FIELD_PATHS:
        return UNKNOWN
    part, name = _FIELD_PATHS[path]
    return str((pod.get(part) or {}).get(name) or UNKNOWN)


def _resolve_resource(pod: ReadOnlyObject, container: ReadOnlyObject, source: ReadOnlyObject, lookup: Lookup) -> str:
    """Return a resource of the container in units of the divisor, rounded up."""
    side, _, name = source["resource"].partition(".")
    spec = pod["spec"]
    every = (*spec["containers"], *(spec.get("initContainers") or ()))
    wanted = source.get("containerName") or container["name"]
    target = next((one for one in every if one["name"] == wanted), container)
    amount = ((target.get("resources") or {}).get(side) or {}).get(name)
    # upstream: without a limit the node's allocatable amount is the limit.
    if amount is None and side == "limits":
        node = lookup("Node", "", spec.get("nodeName", ""))
        amount = (((node or {}).get("status") or {}).get("allocatable") or {}).get(name)
        if amount is None:
            return UNKNOWN
    divisor = parse(str(source.get("divisor") or "1")).amount or parse("1").amount
    return str((parse(str(amount or "0")).amount / divisor).to_integral_value(ROUND_CEILING))


def _classify_directories(pod: ReadOnlyObject, container: ReadOnlyObject) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a container's own empty directories, and those with unknown contents."""
    spec = pod["spec"]
    every = [one for key in ("initContainers", "containers", "ephemeralContainers") for one in spec.get(key) or ()]
    uses = Counter(mount["name"] for one in every for mount in one.get("volumeMounts") or ())
    volumes = {volume["name"] for volume in spec.get("volumes") or () if "emptyDir" in volume}
    empty, foreign = list[str](), list[str]()
    for mount in container.get("volumeMounts") or ():
        # An emptyDir mounted once is written by this container alone, so its contents are known.
        own = mount["name"] in volumes and uses[mount["name"]] == 1 and not mount.get("subPath")
        (empty if own else foreign).append(mount["mountPath"].rstrip("/"))
    return tuple(empty), tuple(foreign)
