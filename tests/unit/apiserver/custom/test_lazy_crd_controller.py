"""Definitions are waited for, and seen to from the first on."""

import asyncio
import subprocess
import sys

from mockkube.apiserver.custom.lazy_crd_controller import LazyCrdController
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, deletion
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope

DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
THING = {"apiVersion": "example.com/v1", "kind": "Thing"}


async def define(registry: Registry) -> None:
    resource = registry.resources["apiextensions.k8s.io", "v1", "customresourcedefinitions"]
    call = RequestScope(User("u"))
    await creation.create(resource, call, resource.decode(DEFINITION, call, "Strict"), WriteOptions())


async def test_the_first_definition_is_served(registry: Registry) -> None:
    definitions = LazyCrdController(registry)
    await definitions.start()
    assert not definitions.is_busy
    assert definitions.openapi_schemas() == {}
    async with asyncio.TaskGroup() as group:
        running = group.create_task(definitions.run())
        await define(registry)
        assert definitions.is_busy
        await definitions.sync("things.example.com")
        assert registry.find("example.com", "v1", "things") is not None
        assert [kind.kind for kind in definitions.openapi_schemas()] == ["Thing"]
        running.cancel()


async def test_what_was_defined_before_is_served_at_once(registry: Registry) -> None:
    await define(registry)
    definitions = LazyCrdController(registry)
    await definitions.start()
    assert registry.find("example.com", "v1", "things") is not None


async def test_what_a_deleted_definition_held_in_memory_goes_with_it(registry: Registry) -> None:
    cache = registry.dependencies.watch_cache
    resource = registry.resources["apiextensions.k8s.io", "v1", "customresourcedefinitions"]
    before = set(cache._collections)
    definitions = LazyCrdController(registry)
    await definitions.start()
    for _ in range(2):
        await define(registry)
        await definitions.sync("things.example.com")
        assert set(cache._collections) - before == {"example.com/things"}
        things, call = registry.find("example.com", "v1", "things"), RequestScope(User("u"), "default")
        assert things is not None
        thing = things.decode({**THING, "metadata": {"name": "a"}}, call, "Strict")
        record = await creation.create(things, call, thing, WriteOptions())
        assert things.collection.get(record.key) is not None
        await deletion.delete(resource, RequestScope(User("u"), "", "things.example.com"), DeleteOptions())
        for _ in range(3):
            await definitions.sync("things.example.com")
        assert set(cache._collections) == before


def test_a_server_without_definitions_loads_no_compiler_of_expressions() -> None:
    script = """
import sys
import mockkube.apiserver.server
for name in ("mockkube_cel.compiler", "mockkube.apiserver.custom.crd_controller", "re2", "yaml", "jsonschema"):
    assert name not in sys.modules, name
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
