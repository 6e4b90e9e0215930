"""Resolve the objects that a kubectl command line names."""

from collections.abc import Sequence
from dataclasses import dataclass

from mockkube.api.errors import NotFound
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.client.protocol import Client, Key, Selection
from mockkube.scenario.errors import Failure
from mockkube.scenario.kinds import Named, kind_called
from mockkube.scenario.kubectl.line import Line
from mockkube.scenario.references import key_in, manifests, placed
from mockkube.scenario.world import World


@dataclass(frozen=True, slots=True)
class Meant:
    """One object: kind and key."""

    named: Named
    key: Key

    def __str__(self) -> str:
        suffix = f".{self.named.group}" if self.named.group else ""
        return f"{self.named.kind.lower()}{suffix}/{self.key.name}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A kubectl command with its world and client."""

    world: World
    client: Client
    line: Line

    @property
    def namespace(self) -> str:
        """Namespace of the command; empty: all."""
        if self.line.on("--all-namespaces"):
            return ""
        return self.line.flag("--namespace", self.world.scene.namespace)

    async def objects(self, words: Sequence[str]) -> list[Meant]:
        """Return the objects of words like `pod a b`, `pod/a node/b`, or `pods` with a selector."""
        if not words:
            raise Failure(f"kubectl {self.line.verb}: no object: give one like pod/NAME")
        if "/" in words[0]:
            pairs = [word.partition("/") for word in words]
            return [await self._one(kind, name) for kind, _, name in pairs]
        if len(words) > 1:
            return [await self._one(words[0], name) for name in words[1:]]
        # Only `get` may list a whole kind; for commands that write, kubectl asks for names, a selector or --all.
        selected = "--selector" in self.line.flags or self.line.on("--all") or self.line.verb == "get"
        if not selected:
            raise Failure(f"kubectl {self.line.verb}: name an object, or give --selector or --all")
        return [found for word in words[0].split(",") for found in await self._all(word)]

    async def _one(self, word: str, name: str) -> Meant:
        named = await kind_called(self.client, word)
        return Meant(named, Key(self.namespace if named.namespaced else "", name))

    async def _all(self, word: str) -> list[Meant]:
        named = await kind_called(self.client, word)
        namespace = self.namespace if named.namespaced else ""
        selection = Selection(namespace, self.line.flag("--selector"), self.line.flag("--field-selector"))
        listed = await self.client.list(named.name, selection)
        return sorted((Meant(named, key_in(obj, named)) for obj in listed.items), key=lambda meant: meant.key)

    async def manifests(self) -> list[tuple[Named, Object]]:
        """Return the manifests of `-f`, each with its namespace."""
        files = self.line.flags.get("--filename", ())
        if not files:
            raise Failure(f"kubectl {self.line.verb}: no manifests: give a file with -f")
        given = [obj for file in files for obj in manifests(self.world, None, file)]
        whole = []
        for obj in given:
            named, there = await placed(self.world, self.client, obj)
            # -n of the command line overrides the scenario's namespace, but not one in the manifest.
            if named.namespaced and "namespace" not in (obj.get("metadata") or {}):
                there["metadata"]["namespace"] = self.namespace
            whole.append((named, there))
        return whole

    async def present(self, meant: Meant) -> ReadOnlyObject | None:
        """Return an object; None if it does not exist."""
        try:
            return await self.client.get(meant.named.name, meant.key)
        except NotFound:
            return None
