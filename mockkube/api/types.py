"""The JSON object at the API edge and in the store: open, typed only by its schema."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
ReadOnlyObject = Mapping[str, Any]
