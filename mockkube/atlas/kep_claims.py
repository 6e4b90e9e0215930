"""Facts that enhancement proposals state about their gates: `conformance/gates/keps.json`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from mockkube.atlas.gate_entry import KepClaim

FILE: Final = "keps.json"


def load_claims(folder: Path) -> Mapping[str, KepClaim]:
    """Return the facts by gate."""
    facts: Mapping[str, Mapping[str, Any]] = orjson.loads((folder / FILE).read_bytes())
    return {
        gate: KepClaim(one["number"], one["title"], tuple(one["components"]), one["canDisable"])
        for gate, one in facts.items()
    }
