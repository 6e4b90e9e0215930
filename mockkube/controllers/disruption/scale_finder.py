"""Scales of the controllers of pods: how many replicas each wants, for any kind of controller.

upstream 1.36: pkg/controller/disruption/disruption.go, finders
"""

from collections.abc import Iterable
from dataclasses import field
from typing import NoReturn

from mockkube.api.errors import ApiError, NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.informer import Informer
from mockkube.client.protocol import Client, Key
from mockkube.controllers.framework.controller_ref_manager import controller_of
from mockkube.controllers.framework.served_kinds import BUILT_IN, custom_kind
from mockkube.lazy_dataclasses import dataclass


class ScaleNotFound(ApiError):
    """The scale of a pod's controller cannot be determined."""


@dataclass(slots=True)
class ControllerScales:
    """Wanted replicas by uid of the controller, and names of pods without one."""

    by_uid: dict[str, int] = field(default_factory=dict)
    unmanaged: list[str] = field(default_factory=list)

    def total(self) -> int:
        """Return the sum of the wanted replicas."""
        return sum(self.by_uid.values())


class ScaleFinder:
    """Finds scales of controllers, in informers for built-in kinds and on the server for others."""

    def __init__(self, client: Client, informers: dict[str, Informer], crds: Informer) -> None:
        """`informers` has the informers of ReplicationController, ReplicaSet, Deployment and StatefulSet by kind."""
        self._client, self._informers, self._crds = client, informers, crds

    async def find_scales(self, pods: Iterable[ReadOnlyObject]) -> ControllerScales:
        """Return the scales of the controllers of these pods; ScaleNotFound if one cannot be found."""
        scales = ControllerScales()
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                scales.unmanaged.append(pod["metadata"]["name"])
            elif reference["uid"] not in scales.by_uid:
                scale = await self._find_scale(reference, pod["metadata"]["namespace"])
                if scale is None:
                    raise ScaleNotFound(f'found no controllers for pod "{pod["metadata"]["name"]}"')
                scales.by_uid[scale["metadata"]["uid"]] = scale["spec"].get("replicas", 0)
        return scales

    async def _find_scale(self, reference: ReadOnlyObject, namespace: str) -> ReadOnlyObject | None:
        group = reference["apiVersion"].rpartition("/")[0]
        if reference["kind"] in self._informers and group in ("", "apps", "extensions"):
            return self._find_in_informers(reference, namespace)
        return await self._find_on_server(reference, group, namespace)

    def _find_in_informers(self, reference: ReadOnlyObject, namespace: str) -> ReadOnlyObject | None:
        owner = self._get_owner(reference, namespace)
        # During a rollout a Deployment has several sets; only its own replicas say how many pods are wanted.
        if owner is not None and reference["kind"] == "ReplicaSet":
            above = controller_of(owner)
            if above is not None and above["kind"] == "Deployment":
                return self._get_owner(above, namespace)
        return owner

    def _get_owner(self, reference: ReadOnlyObject, namespace: str) -> ReadOnlyObject | None:
        owner = self._informers[reference["kind"]].get(Key(namespace, reference["name"]))
        return owner if owner is not None and owner["metadata"]["uid"] == reference["uid"] else None

    async def _find_on_server(self, reference: ReadOnlyObject, group: str, namespace: str) -> ReadOnlyObject | None:
        """Return the scale of a custom resource with a scale subresource; ScaleNotFound for other kinds."""
        definition = self._find_crd(reference, group)
        path = () if definition is None else _replicas_path(definition, reference["apiVersion"])
        if definition is None:
            self._raise_not_found(reference, group)
        if not path:
            raise ScaleNotFound(f"{definition['metadata']['name']} does not implement the scale subresource")
        try:
            owner = await self._client.get(f"{reference['kind']}.{group}", Key(namespace, reference["name"]))
        except NotFound:
            return None
        if owner["metadata"]["uid"] != reference["uid"]:
            return None
        return {"metadata": owner["metadata"], "spec": {"replicas": _number_at(owner, path)}}

    def _find_crd(self, reference: ReadOnlyObject, group: str) -> ReadOnlyObject | None:
        for definition in self._crds.list():
            if custom_kind(definition).matches(reference["apiVersion"], reference["kind"]):
                return definition
        return None

    def _raise_not_found(self, reference: ReadOnlyObject, group: str) -> NoReturn:
        for kind in BUILT_IN:
            if kind.matches(reference["apiVersion"], reference["kind"]):
                name = f"{kind.plural}.{group}" if group else kind.plural
                raise ScaleNotFound(f"{name} does not implement the scale subresource")
        raise ScaleNotFound(f'no matches for kind "{reference["kind"]}" in version "{reference["apiVersion"]}"')


def _replicas_path(crd: ReadOnlyObject, api_version: str) -> tuple[str, ...]:
    version = api_version.rpartition("/")[2]
    for one in crd["spec"]["versions"]:
        scale = one.get("subresources", {}).get("scale")
        if one["name"] == version and scale:
            return tuple(scale["specReplicasPath"].strip(".").split("."))
    return ()


def _number_at(obj: ReadOnlyObject, path: Iterable[str]) -> int:
    value: object = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, int) else 0
