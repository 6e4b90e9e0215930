"""Import of a cluster: adapts its objects and makes the contents of a snapshot of them."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from difflib import get_close_matches
from typing import Final

import orjson

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.accessors import condition, name_of, sections, string
from mockkube.api.times import canonicalize_micro_time, canonicalize_time, parse_micro_time, parse_time, render_time
from mockkube.apiserver.admission.plugins.service_account import ROOT_CA
from mockkube.apiserver.registry import encoding
from mockkube.cluster.configuration.component_settings import ComponentSettings
from mockkube.cluster.snapshots.snapshot_contents import SnapshotContents
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.errors import FlagError
from mockkube.features.gates import enabled_gates, gate_registry
from mockkube.features.versions import DEFAULT, NEWEST, OLDEST, Version
from mockkube.importing.component_gates import find_gates
from mockkube.importing.errors import UnreadableDumpError
from mockkube.importing.metadata_errors import find_metadata_error
from mockkube.importing.object_encoder import NotImportableError, ObjectEncoder
from mockkube.importing.owner_references import ObjectName, OwnerChange, OwnerIndex
from mockkube.importing.redaction import redact_secret
from mockkube.importing.source_version import find_api_servers, find_common_version, find_kubelet_version, find_version
from mockkube.importing.webhooks import WebhookMode, adapt_webhooks
from mockkube.kubelet.nodes.node_status import NOT_READY_ANNOTATION
from mockkube.lazy_dataclasses import dataclass
from mockkube.proposals.loading import default_trains

_EVENTS: Final = ("Event",)
_LEASES: Final = ("Lease",)
_UIDS: Final = uuid.UUID("6d6f636b-6b75-5be1-8000-000000000000")
# Written anew by each API server for itself.
_SERVER_LEASE_LABEL: Final = "apiserver.kubernetes.io/identity"
_SERVER_CONFIG_MAP: Final = ("kube-system", "extension-apiserver-authentication")
# Kinds that an import changes before it encodes them.
_ADAPTED: Final = frozenset(
    (
        "APIService",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "Node",
        "Secret",
        "ValidatingWebhookConfiguration",
    )
)
_COMPONENTS: Final = (API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KUBELET)
_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
# Nodes whose kubelet is another than that of most get a component each, up to this number.
OWN_KUBELETS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import."""

    # Version of the cluster; None: as the objects say.
    version: Version | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    webhooks: WebhookMode = WebhookMode.STUB
    redacts_secrets: bool = True
    keeps_events: bool = False
    keeps_leases: bool = False
    keeps_managed_fields: bool = False
    # Time at which objects without a creation time were created.
    now: datetime | None = None


@dataclass(slots=True)
class ImportReport:
    """Report of an import: what came in, what was changed, what was left out."""

    version: Version
    objects: Counter[str] = field(default_factory=Counter)
    # Number of objects that every cluster has and the dump lacks.
    added: int = 0
    redacted: int = 0
    # Objects that were left out, by kind, with the reason.
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Unknown fields by kind and path.
    unknown_fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    owner_changes: list[OwnerChange] = field(default_factory=list)
    added_namespaces: list[str] = field(default_factory=list)
    stubbed_webhooks: int = 0
    # Nodes whose kubelet does not report, so that it is not simulated.
    silent_nodes: list[str] = field(default_factory=list)
    api_servers: int = 1
    # True if neither the options nor an object name the version.
    is_version_assumed: bool = False

    @property
    def total(self) -> int:
        """Number of imported objects."""
        return self.objects.total()


@dataclass(frozen=True, slots=True)
class ImportedCluster:
    """Result of an import."""

    contents: SnapshotContents
    report: ImportReport


def import_objects(objects: Iterable[ReadOnlyObject], options: ImportOptions | None = None) -> ImportedCluster:
    """Import the objects of a dump; raise UnreadableDumpError if there are none, or of an unsupported version."""
    options = options or ImportOptions()
    found: list[Object] = []
    left_out = Counter[tuple[str, str]]()
    for obj in objects:
        if not name_of(obj):
            continue
        if error := find_metadata_error(obj):
            left_out[string(obj, "kind") or "no kind", f"{name_of(obj)}: {error}"] += 1
        else:
            found.append(dict(obj))
    if not found:
        raise UnreadableDumpError(
            "no objects: give a dump, like the output of 'kubectl get all,nodes,configmaps,pdb,crd -A -o yaml'"
        )
    imported = _Importer(found, options).run()
    imported.report.left_out.update(left_out)
    return imported


def _check_version(version: Version) -> Version:
    if not OLDEST <= version <= NEWEST:
        raise UnreadableDumpError(
            f"the cluster has version {version}: give a supported one, --version {OLDEST} to {NEWEST}"
        )
    return version


def _check_gates(version: Version, gates: Mapping[str, bool]) -> None:
    """Raise UnreadableDumpError for a gate of the options that no component of the version has."""
    registries = (gate_registry(version, default_trains(), one) for one in _COMPONENTS)
    known = {"AllAlpha", "AllBeta", *(gate for one in registries for gate in one.histories)}
    for gate in gates:
        if gate not in known:
            close = get_close_matches(gate, sorted(known), n=1)
            remedy = f"did you mean {close[0]}?" if close else "give the gates that the cluster has"
            raise UnreadableDumpError(f"--feature-gates: no component of {version} has a gate {gate}: {remedy}")


class _Importer:
    """One import."""

    def __init__(self, objects: list[Object], options: ImportOptions) -> None:
        self._objects, self._options = objects, options
        self._nodes = [obj for obj in objects if obj["kind"] == "Node"]
        pods = (obj for obj in objects if obj["kind"] == "Pod")
        self._servers = [
            obj for obj in pods if obj["metadata"].get("namespace") == "kube-system" and find_api_servers([obj])
        ]
        known = options.version or find_version(self._servers, self._nodes)
        version = _check_version(known or DEFAULT)
        self._report = ImportReport(version, is_version_assumed=known is None)
        self._gates = find_gates(objects)
        _check_gates(version, options.feature_gates)
        trains = default_trains()
        gates = enabled_gates(version, self._gates_of(API_SERVER, version), trains, component=API_SERVER)
        self._encoder = ObjectEncoder(Capabilities(version, gates, trains))
        self._now = options.now or _find_time(objects)
        self._owners = OwnerIndex()
        self._entries: dict[str, bytes] = {}
        # Keys of objects with owners, until all uids are known.
        self._owned: dict[str, ObjectName] = {}

    def run(self) -> ImportedCluster:
        crds = [obj for obj in self._objects if obj["kind"] == "CustomResourceDefinition"]
        for crd in crds:
            with suppress(NotImportableError):  # the loop below reports it
                self._encoder.add_crd(crd)
        # Each object is released once it is encoded.
        self._objects.reverse()
        while self._objects:
            self._import(self._objects.pop())
        self._add_namespaces()
        self._relink_owners()
        contents = SnapshotContents(self._entries, self._make_components(), render_time(self._now))
        return ImportedCluster(contents, self._report)

    def _import(self, obj: Object) -> None:
        name = f"{obj['kind']}.{obj.get('apiVersion', '').rpartition('/')[0]}".rstrip(".")
        if reason := self._find_reason_against(obj):
            self._report.left_out[name, reason] += 1
            return
        try:
            if obj["kind"] in _ADAPTED:
                self._encoder.encode(obj)  # raises for a malformed object, which could not be changed
            adapted = self._adapt(obj)
            if adapted is None:
                self._report.left_out[name, f"--webhooks {self._options.webhooks}"] += 1
                return
            encoded = self._encoder.encode(adapted)
        except NotImportableError as error:
            self._report.left_out[name, f"{obj['metadata']['name']}: {error}"] += 1
            return
        for path in encoded.unknown_fields:
            self._report.unknown_fields[obj["kind"], path] += 1
        self._record(encoded.key, encoded.value, adapted, name)

    def _record(self, key: str, value: bytes, obj: ReadOnlyObject, name: str) -> None:
        metadata = obj["metadata"]
        group = str(obj["apiVersion"]).rpartition("/")[0]
        owner_name = (group, obj["kind"], metadata.get("namespace") or "", metadata["name"])
        if key not in self._entries:
            self._report.objects[name] += 1
        self._entries[key] = value
        self._owners.add(owner_name, metadata["uid"])
        if metadata.get("ownerReferences"):
            self._owned[key] = owner_name

    def _find_reason_against(self, obj: ReadOnlyObject) -> str:
        options, metadata = self._options, obj["metadata"]
        if obj["kind"] in _EVENTS and not options.keeps_events:
            return "--events keeps them"
        if (metadata.get("namespace"), metadata["name"]) == _SERVER_CONFIG_MAP:
            return "each API server writes its own"
        is_server_lease = _SERVER_LEASE_LABEL in (metadata.get("labels") or {})
        if obj["kind"] in _LEASES and (is_server_lease or not options.keeps_leases):
            return "--leases keeps them"
        if not self._encoder.supports(obj):
            return f"{self._report.version} stores no {obj['kind']} of {obj.get('apiVersion')}, and no CRD defines it"
        return ""

    def _adapt(self, obj: Object) -> Object | None:
        """Return an object as it is stored; None if it is left out."""
        metadata = dict(obj["metadata"])
        if not metadata.get("namespace") and self._encoder.is_namespaced(obj):
            metadata["namespace"] = "default"  # as `kubectl apply` does with manifests
        metadata.pop("resourceVersion", None)
        metadata.pop("selfLink", None)
        if not self._options.keeps_managed_fields:
            metadata.pop("managedFields", None)
        if not metadata.get("uid"):
            metadata["uid"] = str(uuid.uuid5(_UIDS, f"{obj['kind']}/{metadata.get('namespace')}/{metadata['name']}"))
        metadata.setdefault("creationTimestamp", render_time(self._now))
        adapted: Object = {**obj, "metadata": metadata}
        match obj["kind"]:
            case "Secret" if obj["apiVersion"] == "v1" and self._options.redacts_secrets:
                self._report.redacted += 1
                return redact_secret(adapted)
            case "Node" if obj["apiVersion"] == "v1":
                return self._adapt_node(adapted)
            case "ConfigMap" if metadata["name"] == ROOT_CA:
                # Clients of the cluster that starts from the import have to trust that one.
                return {**adapted, "data": {"ca.crt": ""}}
        changed = adapt_webhooks(adapted, self._options.webhooks)
        if changed is not None and changed is not adapted and "webhooks" in changed:
            self._report.stubbed_webhooks += len(changed["webhooks"] or ())
        return None if changed is None else dict(changed)

    def _adapt_node(self, node: Object) -> Object:
        """Return a node whose Ready condition stays: its kubelet is simulated, or does not run."""
        ready = condition(node, "Ready") or {}
        if ready.get("status") == "Unknown":
            self._report.silent_nodes.append(node["metadata"]["name"])
        elif ready.get("status") == "False":
            metadata = node["metadata"]
            annotations = {
                **(metadata.get("annotations") or {}),
                NOT_READY_ANNOTATION: ready.get("message") or "not ready",
            }
            return {**node, "metadata": {**metadata, "annotations": annotations}}
        return node

    def _gates_of(self, component: str, version: Version) -> dict[str, bool]:
        """Return the gates that a component is started with, those of the options and those that the objects name.

        Gates of the options that it does not know are meant for others.
        """
        given = {**self._gates.get(component, {}), **self._options.feature_gates}
        return {gate: on for gate, on in given.items() if _accepts(component, version, gate, on=on)}

    def _add_namespaces(self) -> None:
        """Add the namespaces of namespaced objects, which a dump may lack."""
        prefix = "/registry/core/namespaces/"
        for name in sorted({one[2] for one in self._owned.values()} | set(self._list_namespaces())):
            if name and f"{prefix}{name}" not in self._entries:
                self._report.added_namespaces.append(name)
                self._import(
                    {
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "metadata": {"name": name, "labels": {_NAMESPACE_LABEL: name}},
                        "spec": {"finalizers": ["kubernetes"]},
                        "status": {"phase": "Active"},
                    }
                )

    def _list_namespaces(self) -> Iterator[str]:
        for name in self._owners.names():
            yield name[2]

    def _relink_owners(self) -> None:
        for key, name in self._owned.items():
            tag, _, body = self._entries[key].partition(b"\n")
            obj = orjson.loads(body)
            if all(self._owners.holds(one, name[2]) for one in obj["metadata"].get("ownerReferences") or ()):
                continue
            relinked, changes = self._owners.relink(obj, name)
            self._report.owner_changes += changes
            self._entries[key] = encoding.encode_stored(relinked, tag)

    def _make_components(self) -> dict[str, Object]:
        """Return the spec of each component: API servers as found, kubelets as their nodes report them."""
        version = self._report.version
        servers = sorted(find_api_servers(self._servers), reverse=True) or [version]
        if self._options.version is not None:
            servers = [version] * len(servers)
        self._report.api_servers = len(servers)
        components: dict[str, Object] = {
            name: _make_spec(version, self._gates_of(name, version))
            for name in (API_SERVER, SCHEDULER, CONTROLLER_MANAGER)
        }
        for number, one in enumerate(servers[1:], 1):
            own = _clamp(one, NEWEST)
            components[f"{API_SERVER}.{number}"] = _make_spec(own, self._gates_of(API_SERVER, own))
        versions = {
            node["metadata"]["name"]: _clamp(found, version)
            for node in self._nodes
            if (found := find_kubelet_version(node))
        }
        common = find_common_version(versions.values()) or version
        components[KUBELET] = _make_spec(common, self._gates_of(KUBELET, common))
        others = [name for name, own in versions.items() if own != common][:OWN_KUBELETS_MAX]
        for name in others:
            components[f"{KUBELET}.{name}"] = _make_spec(versions[name], self._gates_of(KUBELET, versions[name]))
        for name in self._report.silent_nodes:
            components[f"{KUBELET}.{name}"] = {**_make_spec(versions.get(name, common), {}), "running": False}
        return components


def _accepts(component: str, version: Version, gate: str, *, on: bool) -> bool:
    try:
        ComponentSettings(component, version, {gate: on}, default_trains()).validate()
    except FlagError:
        return False
    return True


def _clamp(version: Version, newest: Version) -> Version:
    return min(max(version, OLDEST), newest)


def _make_spec(version: Version, gates: Mapping[str, bool]) -> Object:
    return {"version": str(version), "featureGates": dict(gates), "running": True}


def _find_time(objects: Iterable[ReadOnlyObject]) -> datetime:
    """Return the latest time in the objects: that of the dump, as leases and heartbeats are renewed all the time."""
    latest = "2000-01-01T00:00:00Z"
    renewed = ""
    for obj in objects:
        latest = max(latest, _read_time(obj["metadata"], "creationTimestamp"))
        kind = obj["kind"]
        if kind == "Node":
            for one in sections(obj, "status", "conditions"):
                latest = max(latest, _read_time(one, "lastHeartbeatTime"), _read_time(one, "lastTransitionTime"))
        elif kind == "Pod":
            for one in sections(obj, "status", "conditions"):
                latest = max(latest, _read_time(one, "lastTransitionTime"))
        elif kind == "Lease":
            renewed = max(renewed, _read_time(obj, "spec", "renewTime", canonicalize=canonicalize_micro_time))
    last = parse_time(latest)
    return max(last, parse_micro_time(renewed).replace(microsecond=0)) if renewed else last


def _read_time(obj: ReadOnlyObject, *path: str, canonicalize: Callable[[str], str] = canonicalize_time) -> str:
    """Return the time at the path; empty if there is none, or if it is malformed, as its object is left out later."""
    try:
        return canonicalize(string(obj, *path))
    except ValueError:
        return ""
