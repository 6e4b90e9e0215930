"""Variants as the command line and files give them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from mockkube.api.decoding import bounded_yaml
from mockkube.api.json_objects import Object
from mockkube.cluster.components.component_flags import validate_flags
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.features.capabilities import Capabilities
from mockkube.features.components import SCHEDULER
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import DEFAULT
from mockkube.whatif.changes import Change, Rescheduling, parse_changes
from mockkube.whatif.errors import WhatIfError
from mockkube.whatif.variant_player import WhatIfVariant

_FIELDS = ("name", "changes", "schedulerConfig")


def make_variant(text: str) -> WhatIfVariant:
    """Return the variant of a `--change`; raise WhatIfError if it is none."""
    return WhatIfVariant(text, parse_changes(text))


def make_scheduler_variant(path: str, config: Object) -> WhatIfVariant:
    """Return the variant of a `--scheduler-config`: all pods are scheduled again."""
    return WhatIfVariant(f"scheduler {Path(path).name}", (Rescheduling(),), config, path)


def load_change_file(path: str) -> list[WhatIfVariant]:
    """Return the variants of a file; raise WhatIfError with the place of what is wrong."""
    document = _load_yaml(path, "--change-file")
    if not isinstance(document, list) or not document:
        raise WhatIfError(f"--change-file: {path}: give a list of variants, each with name and changes")
    return [_read_variant(entry, f"--change-file: {path}: [{index}]", path) for index, entry in enumerate(document)]


def _read_variant(entry: Any, at: str, path: str) -> WhatIfVariant:
    if isinstance(entry, str):
        return make_variant(entry)
    if not isinstance(entry, dict):
        raise WhatIfError(f"{at}: give a text, or an object with {', '.join(_FIELDS)}")
    if unknown := [name for name in entry if name not in _FIELDS]:
        raise WhatIfError(f"{at}.{unknown[0]}: there is no such field; there are {', '.join(_FIELDS)}")
    texts = entry.get("changes") or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise WhatIfError(f"{at}.changes: give a list of texts, like [nodes -20%, zone b gone]")
    changes: tuple[Change, ...] = tuple(change for text in texts for change in parse_changes(text))
    config_path = entry.get("schedulerConfig")
    name = str(entry.get("name") or " and ".join(texts) or config_path)
    if config_path is None:
        if not changes:
            raise WhatIfError(f"{at}: give changes or schedulerConfig")
        return WhatIfVariant(name, changes)
    # Relative to the file that names it.
    full = str(Path(path).parent / str(config_path))
    return WhatIfVariant(name, changes or (Rescheduling(),), load_scheduler_config(full), str(config_path))


def load_scheduler_config(path: str) -> Object:
    """Return a KubeSchedulerConfiguration; raise WhatIfError if it cannot be used."""
    config = _load_yaml(path, "--scheduler-config")
    if not isinstance(config, dict):
        raise WhatIfError(f"--scheduler-config: {path}: give a KubeSchedulerConfiguration")
    try:
        # Any version will do: the one of the base is not known yet.
        capabilities = Capabilities(DEFAULT, enabled_gates(DEFAULT, component=SCHEDULER))
        validate_flags({SCHEDULER: {"config": config}}, capabilities)
    except ConfigurationError as error:
        raise WhatIfError(f"--scheduler-config: {path}: {error}") from None
    return config


def _load_yaml(path: str, flag: str) -> Any:
    try:
        return bounded_yaml.load(Path(path).read_text())
    except OSError as error:
        raise WhatIfError(f"{flag}: {path}: {error.strerror}: give a readable file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise WhatIfError(f"{flag}: {path}: no YAML: {reason}") from None


def parse_prices(texts: Iterable[str]) -> Mapping[str, float]:
    """Return prices by type of instance; raise WhatIfError if one is wrong."""
    prices = {}
    for text in texts:
        kind, equals, price = text.rpartition("=")
        try:
            prices[kind] = float(price)
        except ValueError:
            equals = ""
        if not equals or not kind or not 0 <= prices[kind] < float("inf"):
            raise WhatIfError(f"--price {text!r}: write TYPE=PRICE, like m5.large=0.096, or *=0.1 for all others")
    return prices
