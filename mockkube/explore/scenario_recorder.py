"""Record what a path does as steps of the scenario language."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.explore.plans.plan import Action, ComponentSetting

# A step as in a file: `{"advance": "20s"}`.
RecordedStep = dict[str, Any]
# Expectation of writes that may be rejected.
ANY_ANSWER: Final[list[Any]] = [{"check": {}}]
_TENTHS: Final = 10
_NO_LETTER: Final = re.compile(r"\W")


class ScenarioRecorder:
    """Recorded steps, and the manifests they refer to by name."""

    def __init__(self) -> None:
        self.steps: list[RecordedStep] = []
        self.manifests: dict[str, Any] = {}
        self.turned_at = 0
        """Number of steps before the direction down; zero if there is none."""
        self._began = 0.0

    def record_component(self, name: str, setting: ComponentSetting, description: str = "") -> None:
        """Record new settings of a component; empty settings change nothing and are not recorded."""
        version = {"version": setting.version} if setting.version else {}
        gates = {"featureGates": dict(setting.gates)} if setting.gates else {}
        if version or gates:
            extra_fields = {"description": description} if description else {}
            self.steps.append({**extra_fields, "component": {"name": name, **version, **gates}})

    def record_node_patch(self, name: str, patch: ReadOnlyObject) -> None:
        """Record a patch of a node's labels and taints."""
        self.steps.append({"patch": {"ref": f"Node/{name}", "type": "strategic", "patch": to_plain(patch)}})

    def record_action(self, action: Action) -> None:
        """Record an action of the plan."""
        self.steps.append(to_plain(action))

    def record_settle(self) -> None:
        """Record a settle step."""
        self.steps.append({"settle": {}})

    def record_create(self, manifest: ReadOnlyObject) -> None:
        """Record an attempt to create an object, which may be rejected."""
        name = _NO_LETTER.sub("_", f"{manifest['kind']}_{manifest['metadata']['name']}".lower())
        self.manifests[name] = to_plain(manifest)
        self.steps.append({"create": {"resource": f"(${name})", "expect": ANY_ANSWER}})

    def record_advance(self, seconds: float, now: float) -> None:
        """Record that time passes."""
        self._began = now
        self.steps.append({"advance": f"{seconds:g}s"})

    def truncate_advance(self, now: float) -> None:
        """Shorten the last advance to the time that really passed."""
        if "advance" in self.steps[-1]:
            # Rounded up: the last event before the loop was cut off must still happen in the replay.
            passed = ceil((now - self._began) * _TENTHS) / _TENTHS
            self.steps[-1] = {"advance": f"{passed:g}s"}

    def record_turn(self) -> None:
        """Record where the direction down begins."""
        self.turned_at = len(self.steps)


def to_plain(value: Any) -> Any:
    """Return a value of a file as plain, unshared dicts and lists without lines."""
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value
