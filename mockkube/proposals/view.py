"""Object handling of one component, with its version and gates: decoding, defaulting, validation."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any, Final

from mockkube.api.catalogue import KINDS, KindInfo, load
from mockkube.api.codec import Codec, Found
from mockkube.api.fields import FieldError
from mockkube.api.kinds.dependencies import StrategyDependencies
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.matching.cel.devices import device_expression
from mockkube.proposals.lending import make_object_rules, make_schema, make_validation_extensions
from mockkube.proposals.outside import trains_for

_DEFAULT_STRATEGY: Final = Strategy()
_KINDS: Final[Mapping[tuple[str, str], KindInfo]] = {(kind.group, kind.kind): kind for kind in KINDS}


class View:
    """Object handling of one component; raises Mismatch for an object with values of wrong types."""

    def __init__(self, caps: Capabilities, now: datetime) -> None:
        trains = trains_for(caps)
        self.caps = caps
        self.schema = make_schema(caps.version, trains)
        self._codec = Codec(self.schema)
        self._judge = Judge(caps, now)
        dependencies = StrategyDependencies(
            device_expression=device_expression,
            extensions=make_validation_extensions(caps.version, trains),
            objects=make_object_rules(caps.version, trains),
        )
        self._strategies = Strategies(dependencies)

    def knows(self, obj: ReadOnlyObject) -> bool:
        """Return whether the version has the kind."""
        return self.schema.kind(*_parse_gvk(obj)) is not None

    def decode(self, obj: ReadOnlyObject) -> Object:
        """Return the object with the fields that the version knows, and its defaults."""
        group, version, kind = _parse_gvk(obj)
        node = self.schema.kind(group, version, kind)
        assert node is not None, f"{kind} is known"
        decoded = self._codec.decode(node, obj, Found())
        decoded["apiVersion"], decoded["kind"] = obj["apiVersion"], kind
        decoded.setdefault("metadata", {}).setdefault("name", "")
        info = _KINDS.get((group, kind))
        if info is not None and (default := load(group, kind).defaults.get(version)):
            default(decoded, self.caps)
        return decoded

    def created(self, decoded: ReadOnlyObject) -> tuple[Object, list[FieldError]]:
        """Return a new object as it would be stored, and its validation errors."""
        obj, strategy = deepcopy(dict(decoded)), self._strategy(decoded)
        strategy.prepare_for_create(obj, self._judge)
        return obj, strategy.validate_create(obj, self._judge)

    def changed(self, decoded: ReadOnlyObject) -> list[FieldError]:
        """Return the validation errors of an update that leaves the object's spec unchanged."""
        strategy = self._strategy(decoded)
        old = deepcopy(dict(decoded))
        # An update without a resource version is invalid; objects of a manifest have none.
        old["metadata"].setdefault("resourceVersion", "1")
        new = deepcopy(old)
        strategy.prepare_for_update(new, old, self._judge)
        return strategy.validate_update(new, old, self._judge)

    def _strategy(self, obj: ReadOnlyObject) -> Strategy:
        group, _, kind = _parse_gvk(obj)
        info = _KINDS.get((group, kind))
        return _DEFAULT_STRATEGY if info is None else self._strategies.of(info)


def _parse_gvk(obj: ReadOnlyObject) -> tuple[str, str, str]:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return group, version, str(obj.get("kind", ""))


def lost(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Yield the paths that are in one value and not in the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            path = f"{at}.{name}" if at else name
            if name in after:
                yield from lost(value, after[name], path)
            else:
                yield path
    elif isinstance(before, list) and isinstance(after, list):
        for i, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from lost(one, other, f"{at}[{i}]")
