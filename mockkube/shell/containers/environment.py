"""Environment of a container: variables, directories and host name.

upstream 1.36: pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables), third_party/forked/golang/expansion
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.pod_fields import Lookup, get_domain, get_hostname, resolve_field, resolve_resource
from mockkube.shell.containers.service_variables import build_service_variables
from mockkube.shell.containers.volumes import VolumeError, read_data
from mockkube.shell.machine.file_system import UNKNOWN
from mockkube.shell.machine.machine import ContainerEnvironment

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]*)\))")
_VALUE_MAX: Final = 128 * 1024
"""Length of one argument or variable that Linux passes to a program; what would be longer is not expanded."""
_VALUES_MAX: Final = 2 * 1024 * 1024
"""Length of all together."""
_DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ConfigError(Exception):
    """An environment that cannot be built, with the kubelet's message (CreateContainerConfigError)."""


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


def expand_sub_path(text: str, variables: Mapping[str, str]) -> str:
    """Return a `subPathExpr` with its variables; raise VolumeError if one is not set."""
    missing = sorted({name for name in _REFERENCE.findall(text) if name and not variables.get(name)})
    if missing:
        raise VolumeError(f"missing value for {', '.join(missing)}")
    return expand_references(text, variables)


def build_environment(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart) -> ContainerEnvironment:
    """Return the environment of one run of a container; raise ConfigError if a variable has no value."""
    metadata, domain = pod["metadata"], get_domain(pod)
    hostname = get_hostname(pod)
    if domain and pod["spec"].get("setHostnameAsFQDN"):
        hostname = f"{hostname}.{domain}"
    services = build_service_variables(pod, start.services(), start.began) if start.services is not None else {}
    own: dict[str, str] = {}
    has_unknown = False
    for source in container.get("envFrom") or ():
        found = _read_env_from(source, metadata["namespace"], start.lookup)
        has_unknown = has_unknown or found is None
        own |= found or {}
    room = _VALUES_MAX
    for one in container.get("env") or ():
        known = {**services, **own}
        if (value := _resolve_value(one, pod, container, known, start.lookup, min(room, _VALUE_MAX))) is not None:
            own[one["name"]] = value
            room -= len(value)
    # Services come last, and only where the container has no variable of that name.
    variables = {"PATH": _DEFAULT_PATH, "HOSTNAME": hostname, "HOME": "/root", **own}
    variables |= {name: text for name, text in services.items() if name not in own}
    return ContainerEnvironment(
        variables=variables,
        has_unknown_variables=has_unknown,
        hostname=hostname,
        started_at=start.began,
        stdin=bool(container.get("stdin")),
        tty=bool(container.get("tty")),
        sysctls={
            one["name"].replace("/", "."): one.get("value", "")
            for one in (pod["spec"].get("securityContext") or {}).get("sysctls") or ()
        },
        may_escalate=(container.get("securityContext") or {}).get("allowPrivilegeEscalation") is not False,
        has_network_capability=_has_capability(container, "NET_ADMIN"),
        seed=f"{metadata.get('uid', '')}/{container['name']}/{start.run}",
    )


def _has_capability(container: ReadOnlyObject, name: str) -> bool:
    """Return whether a container has a capability that container runtimes do not give by default."""
    security: ReadOnlyObject = container.get("securityContext") or {}
    added = (security.get("capabilities") or {}).get("add") or ()
    return bool(security.get("privileged")) or any(one.upper() in ("ALL", name, f"CAP_{name}") for one in added)


def _read_env_from(source: ReadOnlyObject, namespace: str, lookup: Lookup | None) -> dict[str, str] | None:
    """Return the variables of an `envFrom` source; None if they are not known."""
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if field in source:
            found = _find_object(source[field], kind, namespace, lookup)
            if found is None:
                return None if lookup is None else {}
            # Binary data of a ConfigMap has no variables.
            data = read_data({**found, "kind": kind, "binaryData": {}})
            return {f"{source.get('prefix', '')}{name}": data[name] for name in sorted(data)}
    return None


def _find_object(reference: ReadOnlyObject, kind: str, namespace: str, lookup: Lookup | None) -> ReadOnlyObject | None:
    """Return the object of a reference; None if it is optional and missing, or nothing is known about it."""
    name = reference.get("name", "")
    found = None if lookup is None else lookup(kind, namespace, name)
    if found is None and lookup is not None and not reference.get("optional"):
        raise ConfigError(f'{kind.lower()} "{name}" not found')
    return found


def _resolve_value(
    one: ReadOnlyObject,
    pod: ReadOnlyObject,
    container: ReadOnlyObject,
    variables: Mapping[str, str],
    lookup: Lookup | None,
    length_max: int,
) -> str | None:
    """Return the value of a variable; None if it is unset."""
    source = one.get("valueFrom")
    if not source:
        return expand_references(one.get("value", ""), variables, length_max)
    if (field := source.get("fieldRef")) is not None:
        return resolve_field(pod, field["fieldPath"])
    if (resource := source.get("resourceFieldRef")) is not None:
        return resolve_resource(pod, container, resource, lookup)
    for name, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if (key := source.get(name)) is not None:
            return _resolve_key(key, kind, pod["metadata"]["namespace"], lookup)
    return UNKNOWN


def _resolve_key(key: ReadOnlyObject, kind: str, namespace: str, lookup: Lookup | None) -> str | None:
    """Return the value of a key of a ConfigMap or Secret; None if it is optional and missing."""
    found = _find_object(key, kind, namespace, lookup)
    if found is None:
        return UNKNOWN if lookup is None else None
    data = read_data({**found, "kind": kind, "binaryData": {}})
    if key["key"] not in data and not key.get("optional"):
        raise ConfigError(f"couldn't find key {key['key']} in {kind} {namespace}/{key.get('name', '')}")
    return data.get(key["key"])
