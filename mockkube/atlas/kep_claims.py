"""Facts about gates: what proposals state (`keps.json`), and whose real code reads them (`upstream-readers.json`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from mockkube.atlas.gate_entry import KepClaim

FILE: Final = "keps.json"
READERS_FILE: Final = "upstream-readers.json"


def load_claims(folder: Path) -> Mapping[str, KepClaim]:
    """Return the facts by gate."""
    facts: Mapping[str, Mapping[str, Any]] = orjson.loads((folder / FILE).read_bytes())
    return {
        gate: KepClaim(one["number"], one["title"], tuple(one["components"]), one["canDisable"])
        for gate, one in facts.items()
    }


def load_upstream_readers(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the components whose real code reads a gate, in the newest release that has it, by gate."""
    found: Mapping[str, list[str]] = orjson.loads((folder / READERS_FILE).read_bytes())
    return {gate: tuple(components) for gate, components in found.items()}
