"""A kind with all of its rules: strategy, defaults, printer, conversions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mockkube.api.catalogue import KindInfo
from mockkube.api.kinds.dependencies import StrategyDependencies
from mockkube.api.printers.plain import CREATED
from mockkube.api.printers.table import Printer
from mockkube.api.strategy import Strategy
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

Default = Callable[[Object, Capabilities], None]
"""Fills in defaults of a decoded object."""
Stamp = Callable[[Object, datetime], None]
"""Fills in the present time, after the defaults."""
Conversion = Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Kind(KindInfo):
    """The record of a kind. What it does not set is generic: no defaults, no rules, a table of names."""

    strategy: Callable[[StrategyDependencies], Strategy] = lambda _: Strategy()
    defaults: Mapping[str, Default] = field(default_factory=dict)
    """Defaulting function by version."""
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    """Functions by version that fill in the present time."""
    printer: Printer = CREATED
    conversions: Mapping[tuple[str, str], Conversion] = field(default_factory=dict)
    """Conversions by the API versions they convert from and to; other versions differ by their name only."""
