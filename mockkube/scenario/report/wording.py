"""What people call the parts of a plan: enabling a gate is not an upgrade, and a state has one word."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.scenario.explore.orders import Changes, Happens, Move, Turns
from mockkube.scenario.explore.plan import Change, Order, Phase, Plan, Setting
from mockkube.scenario.explore.reference import capabilities_of

SHORT: Final[Mapping[str, str]] = {
    "kube-apiserver": "apiserver",
    "kube-scheduler": "scheduler",
    "kube-controller-manager": "controller-manager",
    "kubelet": "kubelets",
}
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five")
_FOUR: Final = 4


def format_order(order: Order) -> str:
    """Return an order as people read it."""
    return " → ".join(SHORT.get(name, name) for name in order)


def join_words(parts: Iterable[str], last: str = "and") -> str:
    """Return parts as one enumerates them."""
    *before, end = list(parts) or [""]
    return f"{', '.join(before)} {last} {end}" if before else end


def spell_number(count: int) -> str:
    """Return a small number as a word."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def count_noun(count: int, noun: str) -> str:
    """Return so many of something."""
    return f"{count} {noun}{'s' * (count != 1)}"


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for one plan."""

    plan: Plan

    @property
    def gates(self) -> Sequence[str]:
        """The gates that change."""
        return sorted({gate for one in self.plan.changes for gate in one.after.gates})

    @property
    def is_upgrade(self) -> bool:
        """Whether it is about versions alone."""
        return not self.gates

    @property
    def _changes_only_gates(self) -> bool:
        """Whether it is about gates alone."""
        return not any(one.after.version for one in self.plan.changes)

    def verb(self, phase: Phase) -> str:
        """Return what one does: `enable`, `downgrade`."""
        ways = (
            ("upgrade", "downgrade")
            if self.is_upgrade
            else ("enable", "disable")
            if self._changes_only_gates
            else ("go", "go back")
        )
        return ways[phase is Phase.DOWN]

    def gerund(self, phase: Phase) -> str:
        """Return the same as a noun: `enabling`, `downgrading`."""
        verb = self.verb(phase)
        return {"upgrade": "upgrading", "downgrade": "downgrading", "go": "the way up", "go back": "the way back"}.get(
            verb, f"{verb[:-1]}ing"
        )

    @property
    def subject(self) -> str:
        """What changes: the gate, or the versions."""
        if self._changes_only_gates:
            return join_words(f"`{gate}`" for gate in self.gates)
        spans = dict.fromkeys(f"{one.before.version} to {one.after.version}" for one in self.plan.changes)
        return join_words(spans) + (f" with {join_words(f'`{gate}`' for gate in self.gates)}" if self.gates else "")

    @property
    def title(self) -> str:
        """What the page is about."""
        if self.is_upgrade:
            return f"Upgrade {self.subject}, and downgrade: in which order?"
        return f"{self.verb(Phase.UP).capitalize()} and {self.verb(Phase.DOWN)} {self.subject}: in which order?"

    def describe_state(self, change: Change, phase: Phase) -> str:
        """Return what a component is once it has changed that way."""
        return self.describe_setting(change.component, change.to(phase))

    def describe_setting(self, component: str, setting: Setting) -> str:
        """Return what a component is that is told this."""
        caps = capabilities_of(self.plan, component, setting)
        gates = [f"{'gate' if len(self.gates) == 1 else gate} {'on' if caps.enabled(gate) else 'off'}"
                 for gate in self.gates if gate in setting.gates]  # fmt: skip
        return ", ".join([*([setting.version] if setting.version else []), *gates])

    def reword(self, text: str) -> str:
        """Return what was said of a component with the words for its state."""
        for one in self.plan.changes:
            lacks = f"{one.component} runs without {one.after}"
            is_ = (
                f"is at {one.before.version}" if self.is_upgrade else f"has the {self.describe_state(one, Phase.DOWN)}"
            )
            text = text.replace(lacks, f"{one.component} {is_}")
        return text

    def describe_move(self, move: Move) -> str:
        """Return what happens in a step."""
        match move:
            case Changes(phase, component):
                change = self.plan.change_of(component)
                before = change.to(Phase.DOWN if phase is Phase.UP else Phase.UP)
                was = f" (was {self.describe_setting(component, before)})" if not self._changes_only_gates else ""
                return f"{component}: {self.describe_state(change, phase)}{was}"
            case Happens(_, name):
                return name
            case Turns(prepares):
                if prepares:
                    return "before the first component changes back, the workloads are prepared"
                return f"all have changed; {self.gerund(Phase.DOWN)} begins here"
        return "all change once more"
