"""Mapping between custom resources and their Scale, by the paths in the CRD."""

# upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/etcd.go

from collections.abc import Mapping
from typing import Final

from mockkube.api.custom.definition import Definition
from mockkube.api.errors import BadRequest, Internal
from mockkube.api.managed_fields.field_set import Path
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.custom.scale_paths import Misplaced, replicas_at, steps, text_at, with_replicas
from mockkube.apiserver.registry.resource import result_without_reason
from mockkube.apiserver.registry.scaling import Scaling, shown

# Replicas of a current Scale whose object has none.
_UNSET: Final = -(2**31)


class CustomScaling(Scaling):
    """Mapping between objects of one version and their Scale; `paths` are those of the CRD."""

    judged = False

    def __init__(self, definition: Definition, paths: Mapping[str, str]) -> None:
        self._definition = definition
        self._spec, self._status = paths["specReplicasPath"], paths["statusReplicasPath"]
        self._selector = paths.get("labelSelectorPath", "")

    def of(self, obj: ReadOnlyObject) -> Object:
        """Return the Scale of an object; raise Internal if it has no replicas."""
        if self._replicas(obj) is None:
            raise Internal(f'the spec replicas field "{self._spec}" does not exist')
        return self._shown(obj, 0)

    def current(self, obj: ReadOnlyObject) -> Object:
        """Return the Scale that an update starts from; replicas that are absent get an impossible value."""
        return self._shown(obj, _UNSET)

    def resized(self, obj: ReadOnlyObject, scale: ReadOnlyObject) -> Object:
        """Return the object with the replicas of a Scale."""
        replicas = scale.get("spec", {}).get("replicas", 0)
        # The update kept the impossible value, so neither object nor client set any replicas.
        if replicas == _UNSET:
            raise BadRequest(f'the spec replicas field "{self._spec}" cannot be empty')
        return with_replicas(obj, self._spec, replicas)

    def paths(self, api_version: str) -> dict[str, Path | None]:
        """Return the path of the replicas field by version; None for a version without a scale."""
        scales = {one.api_version: one.scale for one in self._definition.versions.values()}
        return {
            version: tuple(f"f:{name}" for name in steps(scale["specReplicasPath"])) if scale is not None else None
            for version, scale in scales.items()
        }

    def _replicas(self, obj: ReadOnlyObject) -> int | None:
        try:
            return replicas_at(obj, self._spec)
        except Misplaced as error:
            raise result_without_reason(500, str(error)) from error

    def _shown(self, obj: ReadOnlyObject, default: int) -> Object:
        replicas = self._replicas(obj)
        try:
            ready = replicas_at(obj, self._status) or 0
            selector = text_at(obj, self._selector) if self._selector else ""
        except Misplaced as error:
            raise result_without_reason(500, str(error)) from error
        return shown(obj, default if replicas is None else replicas, ready, selector)
