"""Object handling of one component, with its version and gates: decoding, defaulting, validation."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any, Final

from mockkube.api.catalogue import KINDS, KindInfo, load_kind
from mockkube.api.decoding.codec import Codec, DecodingState
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.features.capabilities import Capabilities
from mockkube.matching.cel.devices import validate_device_expression
from mockkube.proposals.component_extensions import make_object_rules, make_schema, make_validation_extensions
from mockkube.proposals.loading import trains_for

_DEFAULT_STRATEGY: Final = Strategy()
_KINDS: Final[Mapping[tuple[str, str], KindInfo]] = {(kind.group, kind.kind): kind for kind in KINDS}


class ComponentView:
    """Object handling of one component; raises DecodingError for an object with values of wrong types."""

    def __init__(self, caps: Capabilities, now: datetime, dependencies: StrategyDependencies | None = None) -> None:
        """Validate with the given dependencies, by default without those that only an API server has."""
        trains = trains_for(caps)
        self.caps = caps
        self.schema = make_schema(caps.version, trains)
        self._codec = Codec(self.schema)
        self._validation_context = StrategyContext(caps, now)
        dependencies = dependencies or StrategyDependencies(
            device_expression=validate_device_expression,
            extensions=make_validation_extensions(caps.version, trains),
            objects=make_object_rules(caps.version, trains),
        )
        self._strategies = Strategies(dependencies)

    def is_served(self, obj: ReadOnlyObject) -> bool:
        """Return whether the version has the kind."""
        return self.schema.find_kind_type(*_parse_gvk(obj)) is not None

    def decode(self, obj: ReadOnlyObject) -> Object:
        """Return the object with the fields that the version knows, and its defaults."""
        group, version, kind = _parse_gvk(obj)
        node = self.schema.find_kind_type(group, version, kind)
        assert node is not None, f"{kind} is known"
        decoded = self._codec.decode(node, obj, DecodingState())
        decoded["apiVersion"], decoded["kind"] = obj["apiVersion"], kind
        decoded.setdefault("metadata", {}).setdefault("name", "")
        info = _KINDS.get((group, kind))
        if info is not None and (default := load_kind(group, kind).defaults.get(version)):
            default(decoded, self.caps)
        return decoded

    def simulate_create(self, decoded: ReadOnlyObject) -> tuple[Object, list[FieldError]]:
        """Return a new object as it would be stored, and its validation errors."""
        obj, strategy = deepcopy(dict(decoded)), self._strategy(decoded)
        strategy.prepare_for_create(obj, self._validation_context)
        return obj, strategy.validate(obj, self._validation_context)

    def simulate_update(self, decoded: ReadOnlyObject) -> list[FieldError]:
        """Return the validation errors of an update that leaves the object's spec unchanged."""
        strategy = self._strategy(decoded)
        old = deepcopy(dict(decoded))
        # An update without a resource version is invalid; objects of a manifest have none.
        old["metadata"].setdefault("resourceVersion", "1")
        new = deepcopy(old)
        strategy.prepare_for_update(new, old, self._validation_context)
        return strategy.validate_update(new, old, self._validation_context)

    def list_warnings(self, decoded: ReadOnlyObject) -> list[str]:
        """Return the warnings for a new object."""
        return list(self._strategy(decoded).warnings_on_create(decoded, self._validation_context))

    def _strategy(self, obj: ReadOnlyObject) -> Strategy:
        group, _, kind = _parse_gvk(obj)
        info = _KINDS.get((group, kind))
        return _DEFAULT_STRATEGY if info is None else self._strategies.for_kind(info)


def _parse_gvk(obj: ReadOnlyObject) -> tuple[str, str, str]:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return group, version, str(obj.get("kind", ""))


def find_lost_paths(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Yield the paths that are in one value and not in the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            path = f"{at}.{name}" if at else name
            if name in after:
                yield from find_lost_paths(value, after[name], path)
            else:
                yield path
    elif isinstance(before, list) and isinstance(after, list):
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from find_lost_paths(one, other, f"{at}[{i}]")
