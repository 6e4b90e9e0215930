"""Write conformance/gates/keps.json: what enhancement proposals state about their gates, from a checkout of them.

`kep_facts.py DIRECTORY` reads every kep.yaml of a git repository of github.com/kubernetes/enhancements.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from mockkube.atlas.gate_readers import list_gates

TARGET = Path("conformance/gates/keps.json")


def read_repository(repository: str) -> dict[str, dict[str, Any]]:
    """Return the facts by gate; of several proposals for a gate the one that is listed last counts."""
    listed = _git(repository, "ls-tree", "-r", "--name-only", "HEAD", "keps").splitlines()
    known = set(list_gates())
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(path for path in listed if path.endswith("/kep.yaml")):
        try:
            document = yaml.load(
                _git(repository, "show", f"HEAD:{path}"), yaml.BaseLoader
            )  # dates are not always valid
        except yaml.YAMLError:
            continue
        for gate in document.get("feature-gates") or ():
            if isinstance(gate, dict) and gate.get("name") in known:
                found[gate["name"]] = _read_facts(document, gate)
    return dict(sorted(found.items()))


def _read_facts(document: dict[str, Any], gate: dict[str, Any]) -> dict[str, Any]:
    listed = gate.get("components") or ()
    components = [listed] if isinstance(listed, str) else [str(name) for name in listed]
    can_disable = document.get("disable-supported")
    return {
        "number": int(document.get("kep-number") or 0),
        "title": str(document.get("title", "")).strip(),
        "components": components,
        "canDisable": {"true": True, "false": False}.get(str(can_disable).lower()),
    }


def _git(repository: str, *arguments: str) -> str:
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    facts = read_repository(sys.argv[1])
    lines = ",\n".join(f"  {json.dumps(gate)}: {json.dumps(one)}" for gate, one in facts.items())
    TARGET.write_text(f"{{\n{lines}\n}}\n")
