"""Record of a kind with all of its rules: strategy, defaults, printer, conversions."""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime

from mockkube.api.catalogue import KindInfo
from mockkube.api.json_objects import Object
from mockkube.api.printers.default_printers import CREATED_AT_PRINTER
from mockkube.api.printers.table import Printer
from mockkube.api.strategy import Strategy
from mockkube.api.strategy_dependencies import StrategyDependencies
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass

# Fills in the defaults of a decoded object.
DefaultFunction = Callable[[Object, Capabilities], None]
# Fills in the present time, after the defaults.
TimeDefaultFunction = Callable[[Object, datetime], None]
Conversion = Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Kind(KindInfo):
    """Record of a kind. Defaults of its fields are those of a generic kind without rules."""

    strategy: Callable[[StrategyDependencies], Strategy] = lambda _: Strategy()
    # Defaulting function by version.
    defaults: Mapping[str, DefaultFunction] = field(default_factory=dict)
    # Functions by version that fill in the present time.
    time_defaults: Mapping[str, TimeDefaultFunction] = field(default_factory=dict)
    printer: Printer = CREATED_AT_PRINTER
    # Conversions by the API versions they convert from and to; other versions differ by their name only.
    conversions: Mapping[tuple[str, str], Conversion] = field(default_factory=dict)
