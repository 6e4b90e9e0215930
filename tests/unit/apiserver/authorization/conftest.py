"""A registry with roles and bindings to put into it, and questions to ask about it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from mockkube.api.json_objects import Object
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.authorization.escalation import EscalationCheck
from mockkube.apiserver.authorization.roles import GROUP
from mockkube.apiserver.identity.user import MASTERS_GROUP, User
from mockkube.apiserver.registry import creation, deletion, encoding, updating
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes, Decision
from mockkube.apiserver.registry.options import DeleteOptions, WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope, Resource

ADMIN = User("admin", groups=(MASTERS_GROUP, "system:authenticated"))
JANE = User("jane", groups=("devs", "system:authenticated"))
READS_PODS = ({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},)


@dataclass
class World:
    """A registry, what decides about it, and makers of objects for it."""

    registry: Registry
    authorizer: Authorizer

    def _resource(self, obj: Object) -> Resource:
        found = self.registry.find_by_kind(obj["apiVersion"], obj["kind"])
        assert found is not None
        return found

    async def put(self, *objs: Object, user: User = ADMIN) -> None:
        for obj in objs:
            resource, call = self._resource(obj), RequestScope(user, obj["metadata"].get("namespace", ""))
            await creation.create(resource, call, resource.decode(obj, call, "Strict"), WriteOptions())

    async def replace(self, obj: Object, user: User = ADMIN) -> None:
        metadata = obj["metadata"]
        resource, call = self._resource(obj), RequestScope(user, metadata.get("namespace", ""), metadata["name"])
        await updating.replace(resource, call, resource.decode(obj, call, "Strict"), WriteOptions())

    async def delete(self, obj: Object) -> None:
        metadata = obj["metadata"]
        call = RequestScope(ADMIN, metadata.get("namespace", ""), metadata["name"])
        await deletion.delete(self._resource(obj), call, DeleteOptions())

    def load(self, obj: Object) -> Object:
        record = self._resource(obj).get_cached(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        assert record is not None
        return record.load()

    def decide(self, user: User = JANE, verb: str = "list", resource: str = "pods", **more: str) -> Decision:
        return self.authorizer.authorize(AuthorizationAttributes(user, verb, resource=resource, **more))

    def allows(self, user: User = JANE, verb: str = "list", resource: str = "pods", **more: str) -> bool:
        return self.decide(user, verb, resource, **more).allowed

    def cluster_role(self, name: str, *rules: Object, **labels: str) -> Object:
        metadata = {"name": name, "labels": labels}
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole"}
        return {**kind, "metadata": metadata, "rules": list(rules or READS_PODS)}

    def role(self, name: str, *rules: Object, namespace: str = "ns") -> Object:
        metadata = {"name": name, "namespace": namespace}
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "Role"}
        return {**kind, "metadata": metadata, "rules": list(rules or READS_PODS)}

    def gathering(self, name: str, **labels: str) -> Object:
        role = self.cluster_role(name)
        role["rules"] = []
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": labels}]}
        return role

    def cluster_binding(self, name: str, role: str, *subjects: str) -> Object:
        reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRoleBinding"}
        return {**kind, "metadata": {"name": name}, "roleRef": reference, "subjects": list(map(_subject, subjects))}

    def binding(self, name: str, role: str, *subjects: str, namespace: str = "ns") -> Object:
        """Bind a role of the namespace, or with `cluster:` before its name a cluster role."""
        kind = "ClusterRole" if role.startswith("cluster:") else "Role"
        reference = {"apiGroup": GROUP, "kind": kind, "name": role.removeprefix("cluster:")}
        whole = {"apiVersion": f"{GROUP}/v1", "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace}}
        return {**whole, "roleRef": reference, "subjects": list(map(_subject, subjects))}


def _subject(text: str) -> Object:
    """`User jane`, `Group devs`, `ServiceAccount robot` or `ServiceAccount robot other-namespace`."""
    kind, name, *namespace = text.split()
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, **({"namespace": namespace[0]} if namespace else {})}
    return {"kind": kind, "apiGroup": GROUP, "name": name}


@pytest.fixture
def jane() -> User:
    return JANE


@pytest.fixture
def admin() -> User:
    return ADMIN


@pytest.fixture
def world(registry: Registry) -> World:
    """A registry in which nobody grants more than they have."""
    authorizer = Authorizer(registry)
    registry.dependencies.admission = AdmissionChain([EscalationCheck(authorizer)])
    return World(registry, authorizer)


@pytest.fixture
def put_raw(registry: Registry) -> Callable[[Object], Awaitable[None]]:
    """Stores an object as it is, for what only reads it."""

    async def put(obj: Object) -> None:
        resource = registry.find_by_kind(obj["apiVersion"], obj["kind"])
        assert resource is not None
        metadata = {"uid": f"uid-{obj['metadata']['name']}", **obj["metadata"]}
        key = resource.key(metadata.get("namespace", ""), metadata["name"])
        entry = await registry.dependencies.store.create(
            key, encoding.encode_stored({**obj, "metadata": metadata}, resource.tag)
        )
        await registry.dependencies.watch_cache.wait_until_at(entry.revision)

    return put
