"""Words for the parts of a plan: gates are enabled, versions upgraded."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from mockkube.explore.observation.reference import compute_capabilities
from mockkube.explore.plans.orders import ChangeMove, DisturbanceMove, Move, TurnMove
from mockkube.explore.plans.plan import ComponentSetting, Direction, Order, PlannedChange, RolloutPlan
from mockkube.lazy_dataclasses import dataclass

SHORT: Final[Mapping[str, str]] = {
    "kube-apiserver": "apiserver",
    "kube-scheduler": "scheduler",
    "kube-controller-manager": "controller-manager",
    "kubelet": "kubelets",
}
# Names for pictures, where there is little room.
BRIEF: Final[Mapping[str, str]] = {**SHORT, "kube-controller-manager": "ctrl-mgr"}
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five")


def tool_name() -> str:
    """Return name and version of mockkube."""
    try:
        return f"mockkube {version('mockkube')}"
    # A checkout that is only on the path has no package metadata.
    except PackageNotFoundError:
        return "mockkube"


def format_order(order: Order) -> str:
    """Return an order in a line, with short names."""
    return " → ".join(SHORT.get(name, name) for name in order)


def join_words(parts: Iterable[str], last: str = "and") -> str:
    """Join words with commas, and `last` before the last."""
    *before, end = list(parts) or [""]
    return f"{', '.join(before)} {last} {end}" if before else end


def spell_number(count: int) -> str:
    """Return a number below six as a word."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def shorten_words(text: str, letters_max: int) -> str:
    """Return the text, with an ellipsis after the last word that fits."""
    if len(text) <= letters_max:
        return text
    return f"{text[:letters_max].rpartition(' ')[0].rstrip(' ,;:.')}…"


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun in singular or plural."""
    return f"{count} {noun}{'s' * (count != 1)}"


@dataclass(frozen=True, slots=True)
class Wording:
    """Words for one plan."""

    plan: RolloutPlan

    @property
    def gates(self) -> Sequence[str]:
        """Gates that change."""
        return sorted({gate for one in self.plan.changes for gate in one.after.gates})

    @property
    def is_upgrade(self) -> bool:
        """True if only versions change."""
        return not self.gates

    @property
    def _changes_only_gates(self) -> bool:
        """True if only gates change."""
        return not any(one.after.version for one in self.plan.changes)

    def verb(self, direction: Direction) -> str:
        """Return the verb of a direction: `enable`, `downgrade`."""
        verbs = (
            ("upgrade", "downgrade")
            if self.is_upgrade
            else ("enable", "disable")
            if self._changes_only_gates
            else ("go", "go back")
        )
        return verbs[direction is Direction.DOWN]

    def gerund(self, direction: Direction) -> str:
        """Return the noun of a direction: `enabling`, `downgrading`."""
        # Only "enable" and "disable" are regular: they drop their e.
        verb = self.verb(direction)
        return {"upgrade": "upgrading", "downgrade": "downgrading", "go": "the way up", "go back": "the way back"}.get(
            verb, f"{verb[:-1]}ing"
        )

    @property
    def subject(self) -> str:
        """The gates or versions that change."""
        if self._changes_only_gates:
            return join_words(f"`{gate}`" for gate in self.gates)
        spans = dict.fromkeys(f"{one.before.version} to {one.after.version}" for one in self.plan.changes)
        return join_words(spans) + (f" with {join_words(f'`{gate}`' for gate in self.gates)}" if self.gates else "")

    @property
    def title(self) -> str:
        """Title of the page."""
        if self.is_upgrade:
            return f"Upgrade {self.subject}, and downgrade: in which order?"
        return f"{self.verb(Direction.UP).capitalize()} and {self.verb(Direction.DOWN)} {self.subject}: in which order?"

    def describe_state(self, change: PlannedChange, direction: Direction) -> str:
        """Describe a component after its change in a direction."""
        return self.describe_setting(change.component, change.setting_for(direction))

    def describe_setting(self, component: str, setting: ComponentSetting) -> str:
        """Describe a component with a setting."""
        caps = compute_capabilities(self.plan, component, setting)
        gates = [f"{'gate' if len(self.gates) == 1 else gate} {'on' if caps.enabled(gate) else 'off'}"
                 for gate in self.gates if gate in setting.gates]  # fmt: skip
        return ", ".join([*([setting.version] if setting.version else []), *gates])

    def reword(self, text: str) -> str:
        """Replace settings in a text by the words for the state."""
        for one in self.plan.changes:
            # The text comes from the exploration, which knows settings but not the words for them.
            lacks = f"{one.component} runs without {one.after}"
            is_ = (
                f"is at {one.before.version}"
                if self.is_upgrade
                else f"has the {self.describe_state(one, Direction.DOWN)}"
            )
            text = text.replace(lacks, f"{one.component} {is_}")
        return text

    def describe_move(self, move: Move) -> str:
        """Describe a move in a line."""
        match move:
            case ChangeMove(direction, component):
                change = self.plan.find_change(component)
                before = change.setting_for(Direction.DOWN if direction is Direction.UP else Direction.UP)
                # A gate has two states, so that the one before is clear; of a version it is not.
                was = f" (was {self.describe_setting(component, before)})" if not self._changes_only_gates else ""
                return f"{component}: {self.describe_state(change, direction)}{was}"
            case DisturbanceMove(_, name):
                return name
            case TurnMove(prepares):
                if prepares:
                    return "before the first component changes back, the workloads are prepared"
                return f"all have changed; {self.gerund(Direction.DOWN)} begins here"
        return "all change once more"
