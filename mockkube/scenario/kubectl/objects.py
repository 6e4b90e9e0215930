"""Resolve the objects that a kubectl command line names."""

from collections.abc import Sequence

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, Selection
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.kinds import ResourceKind, find_kind_by_name
from mockkube.scenario.kubectl.command_line import CommandLine
from mockkube.scenario.references import key_of_kind, load_manifests, with_namespace
from mockkube.scenario.world import World


@dataclass(frozen=True, slots=True)
class TargetObject:
    """One object: kind and key."""

    resource_kind: ResourceKind
    key: Key

    def __str__(self) -> str:
        suffix = f".{self.resource_kind.group}" if self.resource_kind.group else ""
        return f"{self.resource_kind.kind.lower()}{suffix}/{self.key.name}"


@dataclass(frozen=True, slots=True)
class KubectlCommand:
    """A kubectl command with its world and client."""

    world: World
    client: Client
    line: CommandLine

    @property
    def namespace(self) -> str:
        """Namespace of the command; empty: all."""
        if self.line.is_on("--all-namespaces"):
            return ""
        return self.line.flag("--namespace", self.world.context.namespace)

    async def find_objects(self, words: Sequence[str]) -> list[TargetObject]:
        """Return the objects of words like `pod a b`, `pod/a node/b`, or `pods` with a selector."""
        if not words:
            raise StepFailed(f"kubectl {self.line.verb}: no object: give one like pod/NAME")
        if "/" in words[0]:
            pairs = [word.partition("/") for word in words]
            return [await self._make_target(kind, name) for kind, _, name in pairs]
        if len(words) > 1:
            return [await self._make_target(words[0], name) for name in words[1:]]
        # Only `get` may list a whole kind; for commands that write, kubectl asks for names, a selector or --all.
        selected = "--selector" in self.line.flags or self.line.is_on("--all") or self.line.verb == "get"
        if not selected:
            raise StepFailed(f"kubectl {self.line.verb}: name an object, or give --selector or --all")
        return [found for word in words[0].split(",") for found in await self._list_targets(word)]

    async def _make_target(self, word: str, name: str) -> TargetObject:
        named = await find_kind_by_name(self.client, word)
        return TargetObject(named, Key(self.namespace if named.namespaced else "", name))

    async def _list_targets(self, word: str) -> list[TargetObject]:
        named = await find_kind_by_name(self.client, word)
        namespace = self.namespace if named.namespaced else ""
        selection = Selection(namespace, self.line.flag("--selector"), self.line.flag("--field-selector"))
        listed = await self.client.list(named.name, selection)
        return sorted(
            (TargetObject(named, key_of_kind(obj, named)) for obj in listed.items), key=lambda meant: meant.key
        )

    async def read_manifests(self) -> list[tuple[ResourceKind, Object]]:
        """Return the manifests of `-f`, each with its namespace."""
        files = self.line.flags.get("--filename", ())
        if not files:
            raise StepFailed(f"kubectl {self.line.verb}: no manifests: give a file with -f")
        manifests = [obj for file in files for obj in load_manifests(self.world, None, file)]
        targets = []
        for obj in manifests:
            resource_kind, manifest = await with_namespace(self.world, self.client, obj)
            # -n of the command line overrides the scenario's namespace, but not one in the manifest.
            if resource_kind.namespaced and "namespace" not in (obj.get("metadata") or {}):
                manifest["metadata"]["namespace"] = self.namespace
            targets.append((resource_kind, manifest))
        return targets

    async def get_if_exists(self, meant: TargetObject) -> ReadOnlyObject | None:
        """Return an object; None if it does not exist."""
        try:
            return await self.client.get(meant.resource_kind.name, meant.key)
        except NotFound:
            return None
