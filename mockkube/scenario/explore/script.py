"""What a journey does, written down as steps of the scenario language while it does it."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.scenario.explore.plan import Action, Setting

ScriptStep = dict[str, Any]
"""A step as it stands in a file: `{"advance": "20s"}`."""
ANY_ANSWER: Final[list[Any]] = [{"check": {}}]
"""Expected of what may be refused."""
_TENTHS: Final = 10
_NO_LETTER: Final = re.compile(r"\W")


class Script:
    """Steps in the order in which they were taken, and the manifests they refer to by name."""

    def __init__(self) -> None:
        self.steps: list[ScriptStep] = []
        self.manifests: dict[str, Any] = {}
        self.turned_at = 0
        """How many steps lie before the way down; zero: there is none."""
        self._began = 0.0

    def component(self, name: str, setting: Setting, description: str = "") -> None:
        """A component becomes something else; one that is asked for nothing stays as it is."""
        version = {"version": setting.version} if setting.version else {}
        gates = {"featureGates": dict(setting.gates)} if setting.gates else {}
        if version or gates:
            told = {"description": description} if description else {}
            self.steps.append({**told, "component": {"name": name, **version, **gates}})

    def node(self, name: str, patch: ReadOnlyObject) -> None:
        """A node gets labels and taints."""
        self.steps.append({"patch": {"ref": f"Node/{name}", "type": "strategic", "patch": plain(patch)}})

    def action(self, action: Action) -> None:
        """A step of the plan."""
        self.steps.append(plain(action))

    def settle(self) -> None:
        """All that can happen happens."""
        self.steps.append({"settle": {}})

    def tries(self, manifest: ReadOnlyObject) -> None:
        """Users try to create something, and may be refused."""
        name = _NO_LETTER.sub("_", f"{manifest['kind']}_{manifest['metadata']['name']}".lower())
        self.manifests[name] = plain(manifest)
        self.steps.append({"create": {"resource": f"(${name})", "expect": ANY_ANSWER}})

    def passes(self, seconds: float, now: float) -> None:
        """Time passes."""
        self._began = now
        self.steps.append({"advance": f"{seconds:g}s"})

    def cut_off(self, now: float) -> None:
        """The last that passed did not pass to its end."""
        if "advance" in self.steps[-1]:
            passed = ceil((now - self._began) * _TENTHS) / _TENTHS
            self.steps[-1] = {"advance": f"{passed:g}s"}

    def turns(self) -> None:
        """The way down begins."""
        self.turned_at = len(self.steps)


def plain(value: Any) -> Any:
    """Return what a file gave without its lines: plain maps and lists, none of them shared."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
