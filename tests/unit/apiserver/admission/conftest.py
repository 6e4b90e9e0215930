"""Requests to a registry, to ask plugins about."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from mockkube.api.json_objects import Object
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation, updating
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

SOMEBODY = User("somebody")


@dataclass
class World:
    """A registry without plugins of its own."""

    registry: Registry

    def resource(self, obj: Object) -> Resource:
        found = self.registry.find_by_kind(obj["apiVersion"], obj["kind"])
        assert found is not None
        return found

    def decoded(self, obj: Object) -> Object:
        resource = self.resource(obj)
        return resource.to_storage_version(resource.decode(obj, RequestScope(SOMEBODY), "Strict"))

    async def put(self, *objs: Object) -> None:
        for obj in objs:
            call = RequestScope(SOMEBODY, obj["metadata"].get("namespace", ""))
            resource = self.resource(obj)
            await creation.create(resource, call, resource.decode(obj, call, "Strict"), WriteOptions())

    async def change(self, resource: Resource, name: str, change: Callable[[Object], object]) -> None:
        def changed(old: Object) -> Object:
            change(old)
            return old

        await updating.update(resource, RequestScope(SOMEBODY, name=name), changed, WriteOptions())

    def creation(self, obj: Object, subresource: str = "") -> AdmissionAttributes:
        return self._request(Operation.CREATE, obj, None, subresource)

    def update(self, obj: Object, old: Object, subresource: str = "") -> AdmissionAttributes:
        return self._request(Operation.UPDATE, obj, self.decoded(old), subresource)

    def deletion(self, old: Object) -> AdmissionAttributes:
        request = self._request(Operation.DELETE, old, self.decoded(old), "")
        request.obj = None
        return request

    def _request(self, operation: Operation, obj: Object, old: Object | None, subresource: str) -> AdmissionAttributes:
        metadata = obj["metadata"]
        name = "" if operation is Operation.CREATE else metadata["name"]
        call = RequestScope(SOMEBODY, metadata.get("namespace", ""), name, subresource, decoded_from=obj)
        return AdmissionAttributes(operation, self.resource(obj), call, self.decoded(obj), old)


@pytest.fixture
def world(registry: Registry) -> World:
    return World(registry)
