"""Find the components that read each gate, by looking for the names of gates in the source of the components."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import mockkube
from mockkube.features.components import API_SERVER, CONTROLLER_MANAGER, KUBELET, SCHEDULER
from mockkube.features.gate_table import SPECIAL, gate_histories
from mockkube.features.versions import NEWEST, OLDEST, Version

# In the order in which plans list them.
COMPONENTS: Final = (API_SERVER, CONTROLLER_MANAGER, SCHEDULER, KUBELET)
ALL_VERSIONS: Final = tuple(Version(1, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1))
_ROOT: Final = Path(mockkube.__file__).parent
_OWNERS: Final[Mapping[str, str]] = {
    "apiserver": API_SERVER,
    "api/kinds": API_SERVER,
    "api/validation": API_SERVER,
    "controllers": CONTROLLER_MANAGER,
    "scheduler": SCHEDULER,
    "kubelet": KUBELET,
}
# Modules that several components call, with those that pass their own gates to them.
SHARED_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "api/conditions.py": (CONTROLLER_MANAGER, SCHEDULER),
    "api/quantities/pod_requests.py": (API_SERVER, SCHEDULER, KUBELET),
    "api/quota_usage.py": (API_SERVER, CONTROLLER_MANAGER),
    "matching/cel/devices.py": (API_SERVER, SCHEDULER),
    "matching/node_features.py": (KUBELET,),  # the others compare what kubelets declare, by version
    "proposals/kep_3094.py": (SCHEDULER,),
    "proposals/kep_5471.py": COMPONENTS,
}
# Code that no component runs: it explains, plans, renders, or starts clusters.
_NO_COMPONENT: Final = (
    *("assets", "atlas", "cli", "cluster", "distributed", "explain", "explore", "features", "importing", "perturb"),
    *("rehearse", "report", "scenario", "testing", "ui"),
)
# Default roles, whose rules may depend on gates: `?Gate`.
_ROLES: Final = "apiserver/authorization/data/roles.txt"
_ROLE_CONDITION: Final = re.compile(r"\?([A-Z]\w+)")
_LITERAL: Final = re.compile(r'"([A-Z]\w+)"')
_IMPORT: Final = re.compile(r"^from (mockkube[\w.]*) import", re.MULTILINE)


class UnknownOwnerError(Exception):
    """A module outside the components names a gate, and nothing says which components call it."""


@cache
def list_gates() -> tuple[str, ...]:
    """Return every gate that a binary of some supported version knows, by name."""
    return tuple(sorted({gate for version in ALL_VERSIONS for gate in gate_histories(version)} - SPECIAL.keys()))


@cache
def find_readers() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return, for each gate that some component reads, its components with the modules that name it."""
    found: dict[str, dict[str, set[str]]] = {}
    for module, gates in _find_gates_of_modules().items():
        owners = _find_owners(module) if gates else ()
        for gate in gates:
            for owner in owners:
                found.setdefault(gate, {}).setdefault(owner, set()).add(module)
    return {
        gate: {name: tuple(sorted(modules[name])) for name in COMPONENTS if name in modules}
        for gate, modules in sorted(found.items())
    }


def _find_owners(module: str) -> tuple[str, ...]:
    if module in SHARED_MODULES:
        return SHARED_MODULES[module]
    owner = next((name for folder, name in _OWNERS.items() if module.startswith(f"{folder}/")), None)
    if owner is None:
        # Silence would leave a component out of the plans.
        raise UnknownOwnerError(f"{module} names a gate: say in gate_readers.py which components call it")
    return (owner,)


def _find_gates_of_modules() -> Mapping[str, set[str]]:
    """Return the gates that each module names, itself or by a constant that it imports."""
    known = frozenset(list_gates())
    texts = dict(_read_modules())
    named = {module: known.intersection(_LITERAL.findall(text)) for module, text in texts.items()}
    constants = {
        _dotted(module): dict(_find_constants(texts[module], gates)) for module, gates in named.items() if gates
    }
    found = {module: set(gates) for module, gates in named.items()}
    for module, text in texts.items():
        if any(constants.get(source) for source in _IMPORT.findall(text)):
            found[module] |= set(_find_imported_gates(text, constants))
    found[_ROLES] = set(known.intersection(_ROLE_CONDITION.findall((_ROOT / _ROLES).read_text())))
    return found


def _read_modules() -> Iterator[tuple[str, str]]:
    for path in sorted(_ROOT.rglob("*.py")):
        module = path.relative_to(_ROOT).as_posix()
        if "/" in module and module.partition("/")[0] not in _NO_COMPONENT:
            yield module, path.read_text()


def _dotted(module: str) -> str:
    return "mockkube." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _find_constants(text: str, gates: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the constants of a module that hold names of gates."""
    for node in ast.parse(text).body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str() as value)) if value in gates:
                yield name, frozenset({value})
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as value)) if value in gates:
                yield name, frozenset({value})


def _find_imported_gates(text: str, constants: Mapping[str, Mapping[str, frozenset[str]]]) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module in constants:
            for alias in node.names:
                yield from constants[node.module].get(alias.name, ())
