"""Former name of `json_objects`, for proposal files that import it."""

from mockkube.api.json_objects import Object, ReadOnlyObject

__all__ = ["Object", "ReadOnlyObject"]
