"""Canonical form of Endpoints subsets: addresses with the same ports together, all sorted.

upstream 1.36: pkg/api/v1/endpoints/util.go
"""

from collections.abc import Iterable
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.controllers.pods.go_dump import GoField, GoPointer, GoScalar, GoSlice, GoStruct, sort_by_hash

_STRING: Final = GoScalar("string")
_REFERENCE: Final = GoStruct(
    "v1.ObjectReference",
    (
        GoField("Kind", "kind", _STRING),
        GoField("Namespace", "namespace", _STRING),
        GoField("Name", "name", _STRING),
        GoField("UID", "uid", GoScalar("types.UID")),
        GoField("APIVersion", "apiVersion", _STRING),
        GoField("ResourceVersion", "resourceVersion", _STRING),
        GoField("FieldPath", "fieldPath", _STRING),
    ),
)
_ADDRESS: Final = GoStruct(
    "v1.EndpointAddress",
    (
        GoField("IP", "ip", _STRING),
        GoField("Hostname", "hostname", _STRING),
        GoField("NodeName", "nodeName", GoPointer(_STRING)),
        GoField("TargetRef", "targetRef", GoPointer(_REFERENCE)),
    ),
)
_PORT: Final = GoStruct(
    "v1.EndpointPort",
    (
        GoField("Name", "name", _STRING),
        GoField("Port", "port", GoScalar("int32", "0")),
        GoField("Protocol", "protocol", GoScalar("v1.Protocol")),
        GoField("AppProtocol", "appProtocol", GoPointer(_STRING)),
    ),
)
_SUBSET: Final = GoStruct(
    "v1.EndpointSubset",
    (
        GoField("Addresses", "addresses", GoSlice(_ADDRESS)),
        GoField("NotReadyAddresses", "notReadyAddresses", GoSlice(_ADDRESS)),
        GoField("Ports", "ports", GoSlice(_PORT)),
    ),
)
_Port = tuple[tuple[str, object], ...]
_Ready = dict[tuple[str, str], bool]


def _address_key(address: ReadOnlyObject) -> tuple[str, str]:
    return address["ip"], address.get("targetRef", {}).get("uid", "")


def repack_subsets(subsets: Iterable[ReadOnlyObject]) -> list[Object]:
    """Return the canonical form; an address both ready and not ready for a port is not ready."""
    known: dict[tuple[str, str], ReadOnlyObject] = {}
    by_port: dict[_Port, _Ready] = {}
    for subset in subsets:
        # A subset without ports must survive: headless services may have none.
        ports: Iterable[ReadOnlyObject] = subset.get("ports") or ({},)
        for port in ports:
            ready = by_port.setdefault(tuple(sorted(port.items())), {})
            for address in subset.get("addresses", ()):
                known.setdefault(_address_key(address), address)
                ready.setdefault(_address_key(address), True)
            for address in subset.get("notReadyAddresses", ()):
                known.setdefault(_address_key(address), address)
                ready[_address_key(address)] = False
    together: dict[tuple[tuple[tuple[str, str], bool], ...], list[_Port]] = {}
    for packed, ready in by_port.items():
        together.setdefault(tuple(sorted(ready.items())), []).append(packed)
    final = [_build_subset(dict(offered), ports, known) for offered, ports in together.items()]
    return sort_by_hash(final, _SUBSET)


def _build_subset(ready: _Ready, ports: Iterable[_Port], known: dict[tuple[str, str], ReadOnlyObject]) -> Object:
    """Return a subset of sorted addresses and their ports."""
    subset: Object = {}
    if up := [known[key] for key, is_up in ready.items() if is_up]:
        subset["addresses"] = up
    if down := [known[key] for key, is_up in ready.items() if not is_up]:
        subset["notReadyAddresses"] = down
    if named := [dict(port) for port in ports if port]:
        subset["ports"] = sort_by_hash(named, _PORT)
    return subset
