"""Resolve the objects of a step: manifests in the step or a file, or references to existing objects."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, Selection
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kinds import ResourceKind, find_kind, find_kind_by_name
from mockkube.scenario.world import World
from mockkube.scenario.yaml_lines import LocatedMapping as LocatedMapping
from mockkube.scenario.yaml_lines import copy_without_lines, read_file


@dataclass(frozen=True, slots=True)
class TargetReference:
    """Existing objects: `deployment/web`, or apiVersion, kind and a name or labels."""

    kind: Annotated[str, "its kind, as in manifests or as kubectl takes it"]
    name: Annotated[str, "its name; empty: every object that the labels select"] = ""
    api_version: Annotated[str, "where the kind is of; needed only when two groups have one of the same name"] = ""
    namespace: Annotated[str, "its namespace; empty: that of the scenario"] = ""
    labels: Annotated[Mapping[str, str], "labels that it must have"] = field(default_factory=dict)

    @staticmethod
    def adapt(node: Any) -> Any:
        """Accept `KIND/NAME`."""
        if isinstance(node, str):
            kind, slash, name = node.partition("/")
            return {"kind": kind, "name": name} if slash else {"kind": kind}
        return node

    async def find_kind(self, client: Client) -> ResourceKind:
        """Return the kind."""
        if self.api_version:
            return await find_kind(client, {"apiVersion": self.api_version, "kind": self.kind})
        return await find_kind_by_name(client, self.kind)

    async def find_keys(self, world: World, client: Client) -> tuple[ResourceKind, list[Key]]:
        """Return the kind and the keys of the objects."""
        named = await self.find_kind(client)
        namespace = (self.namespace or world.context.namespace) if named.namespaced else ""
        if self.name:
            return named, [Key(namespace, self.name)]
        labels = ",".join(f"{key}={value}" for key, value in self.labels.items())
        listed = await client.list(named.name, Selection(namespace=namespace, labels=labels))
        return named, sorted(key_of_kind(obj, named) for obj in listed.items)

    def __str__(self) -> str:
        shown = self.name or ",".join(f"{key}={value}" for key, value in self.labels.items())
        return f"{self.kind}/{shown}" if shown else self.kind


def key_of_kind(obj: ReadOnlyObject, named: ResourceKind) -> Key:
    """Return the key of an object of a kind."""
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", "") if named.namespaced else "", metadata["name"])


def adapt_manifests(node: Any) -> Any:
    """Accept a manifest or a list of them in place of the field `resource`."""
    if isinstance(node, list) or (isinstance(node, Mapping) and "apiVersion" in node and "kind" in node):
        # The lines of the manifest are kept, so that an error in it still shows where it is.
        wrapped = LocatedMapping(resource=node)
        wrapped.line, wrapped.lines = getattr(node, "line", 0), {"resource": getattr(node, "line", 0)}
        return wrapped
    return {"file": node} if isinstance(node, str) else node


def load_manifests(world: World, resource: Any, file: str) -> list[Object]:
    """Return copies of the manifests of a step, or of a file beside the scenario."""
    loaded = read_file(world.context.directory / file) if file else resource
    found: list[Object] = []
    for one in loaded if isinstance(loaded, list) else [loaded]:
        if isinstance(one, Mapping) and one.get("kind") == "List":
            found += load_manifests(world, list(one.get("items") or ()), "")
        elif not isinstance(one, Mapping) or "apiVersion" not in one or "kind" not in one:
            raise StepFailed(f"not a manifest: it needs apiVersion and kind: {str(one)[:100]}")
        else:
            found.append(copy_without_lines(one))
    return found


async def with_namespace(world: World, client: Client, obj: Object) -> tuple[ResourceKind, Object]:
    """Return the kind of a manifest, and the manifest with the scenario's namespace if it names none."""
    named = await find_kind(client, obj)
    metadata = dict(obj.get("metadata") or {})
    if named.namespaced:
        metadata.setdefault("namespace", world.context.namespace)
    return named, {**obj, "metadata": metadata}


async def find_candidates(
    world: World, client: Client, expected: ReadOnlyObject
) -> tuple[ResourceKind, Sequence[ReadOnlyObject]]:
    """Return the objects that a partial one may mean: the one with its name, or all of its kind and labels."""
    named, manifest = await with_namespace(world, client, dict(expected))
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace", "") if named.namespaced else ""
    if name := metadata.get("name"):
        try:
            return named, [await client.get(named.name, Key(namespace, name))]
        except NotFound:
            return named, []
    labels = metadata.get("labels") or {}
    # Labels with expressions cannot be a selector; they are compared afterwards, object by object.
    plain = {key: value for key, value in labels.items() if not key.startswith("(")}
    selector = ",".join(f"{key}={value}" for key, value in plain.items())
    return named, (await client.list(named.name, Selection(namespace=namespace, labels=selector))).items
