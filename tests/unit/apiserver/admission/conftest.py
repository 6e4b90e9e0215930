"""Requests to a registry, to ask plugins about."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from mockkube.api.types import Object
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.admission import Operation, Request
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import Call, Resource

SOMEBODY = User("somebody")


@dataclass
class World:
    """A registry without plugins of its own."""

    registry: Registry

    def resource(self, obj: Object) -> Resource:
        found = self.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert found is not None
        return found

    def decoded(self, obj: Object) -> Object:
        resource = self.resource(obj)
        return resource.stored(resource.decode(obj, Call(SOMEBODY), "Strict"))

    async def put(self, *objs: Object) -> None:
        for obj in objs:
            call = Call(SOMEBODY, obj["metadata"].get("namespace", ""))
            resource = self.resource(obj)
            await creation.create(resource, call, resource.decode(obj, call, "Strict"), WriteOptions())

    async def change(self, resource: Resource, name: str, change: Callable[[Object], object]) -> None:
        def changed(old: Object) -> Object:
            change(old)
            return old

        await updating.update(resource, Call(SOMEBODY, name=name), changed, WriteOptions())

    def creation(self, obj: Object, subresource: str = "") -> Request:
        return self._request(Operation.CREATE, obj, None, subresource)

    def update(self, obj: Object, old: Object, subresource: str = "") -> Request:
        return self._request(Operation.UPDATE, obj, self.decoded(old), subresource)

    def deletion(self, old: Object) -> Request:
        request = self._request(Operation.DELETE, old, self.decoded(old), "")
        request.obj = None
        return request

    def _request(self, operation: Operation, obj: Object, old: Object | None, subresource: str) -> Request:
        metadata = obj["metadata"]
        name = "" if operation is Operation.CREATE else metadata["name"]
        call = Call(SOMEBODY, metadata.get("namespace", ""), name, subresource, given=obj)
        return Request(operation, self.resource(obj), call, self.decoded(obj), old)


@pytest.fixture
def world(registry: Registry) -> World:
    return World(registry)
