"""JSON objects at the API edge and in the store: open dicts, typed only by their schema."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
ReadOnlyObject = Mapping[str, Any]
