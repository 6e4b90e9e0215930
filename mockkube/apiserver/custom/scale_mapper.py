"""Mapping between custom resources and their Scale, by the paths in the CRD."""

# upstream 1.36: apiextensions-apiserver/pkg/registry/customresource/etcd.go

from collections.abc import Mapping
from typing import Final

from mockkube.api.custom.crd import Crd
from mockkube.api.errors import BadRequest, Internal
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.managed_fields.field_set import Path
from mockkube.apiserver.custom.scale_paths import ScalePathError, read_replicas, read_text, split_path, with_replicas
from mockkube.apiserver.registry.resource import error_without_reason
from mockkube.apiserver.registry.scale_mapper import ScaleMapper, make_scale

# Replicas of a current Scale whose object has none.
_UNSET_REPLICAS: Final = -(2**31)


class CustomScaleMapper(ScaleMapper):
    """Mapping between objects of one version and their Scale; `paths` are those of the CRD."""

    validates_replicas = False

    def __init__(self, crd: Crd, paths: Mapping[str, str]) -> None:
        self._crd = crd
        self._spec, self._status = paths["specReplicasPath"], paths["statusReplicasPath"]
        self._selector = paths.get("labelSelectorPath", "")

    def to_scale(self, obj: ReadOnlyObject) -> Object:
        """Return the Scale of an object; raise Internal if it has no replicas."""
        if self._read_replicas(obj) is None:
            raise Internal(f'the spec replicas field "{self._spec}" does not exist')
        return self._make_scale(obj, 0)

    def to_current_scale(self, obj: ReadOnlyObject) -> Object:
        """Return the Scale that an update starts from; replicas that are absent get an impossible value."""
        return self._make_scale(obj, _UNSET_REPLICAS)

    def with_replicas(self, obj: ReadOnlyObject, scale: ReadOnlyObject) -> Object:
        """Return the object with the replicas of a Scale."""
        replicas = scale.get("spec", {}).get("replicas", 0)
        # The update kept the impossible value, so neither object nor client set any replicas.
        if replicas == _UNSET_REPLICAS:
            raise BadRequest(f'the spec replicas field "{self._spec}" cannot be empty')
        return with_replicas(obj, self._spec, replicas)

    def replicas_paths(self, api_version: str) -> dict[str, Path | None]:
        """Return the path of the replicas field by version; None for a version without a scale."""
        scales = {one.api_version: one.scale_paths for one in self._crd.versions.values()}
        return {
            version: tuple(f"f:{name}" for name in split_path(scale["specReplicasPath"])) if scale is not None else None
            for version, scale in scales.items()
        }

    def _read_replicas(self, obj: ReadOnlyObject) -> int | None:
        try:
            return read_replicas(obj, self._spec)
        except ScalePathError as error:
            raise error_without_reason(500, str(error)) from error

    def _make_scale(self, obj: ReadOnlyObject, default: int) -> Object:
        replicas = self._read_replicas(obj)
        try:
            ready = read_replicas(obj, self._status) or 0
            selector = read_text(obj, self._selector) if self._selector else ""
        except ScalePathError as error:
            raise error_without_reason(500, str(error)) from error
        return make_scale(obj, default if replicas is None else replicas, ready, selector)
