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


def order_text(order: Order) -> str:
    """Return an order as people read it."""
    return " → ".join(SHORT.get(name, name) for name in order)


def listed(parts: Iterable[str], last: str = "and") -> str:
    """Return parts as one enumerates them."""
    *before, end = list(parts) or [""]
    return f"{', '.join(before)} {last} {end}" if before else end


def number(count: int) -> str:
    """Return a small number as a word."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def times(count: int, noun: str) -> str:
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
    def upgrades(self) -> bool:
        """Whether it is about versions alone."""
        return not self.gates

    @property
    def _flips(self) -> bool:
        """Whether it is about gates alone."""
        return not any(one.after.version for one in self.plan.changes)

    def verb(self, phase: Phase) -> str:
        """Return what one does: `enable`, `downgrade`."""
        ways = (
            ("upgrade", "downgrade") if self.upgrades else ("enable", "disable") if self._flips else ("go", "go back")
        )
        return ways[phase is Phase.DOWN]

    def doing(self, phase: Phase) -> str:
        """Return the same as a noun: `enabling`, `downgrading`."""
        verb = self.verb(phase)
        return {"upgrade": "upgrading", "downgrade": "downgrading", "go": "the way up", "go back": "the way back"}.get(
            verb, f"{verb[:-1]}ing"
        )

    @property
    def subject(self) -> str:
        """What changes: the gate, or the versions."""
        if self._flips:
            return listed(f"`{gate}`" for gate in self.gates)
        spans = dict.fromkeys(f"{one.before.version} to {one.after.version}" for one in self.plan.changes)
        return listed(spans) + (f" with {listed(f'`{gate}`' for gate in self.gates)}" if self.gates else "")

    @property
    def title(self) -> str:
        """What the page is about."""
        if self.upgrades:
            return f"Upgrade {self.subject}, and downgrade: in which order?"
        return f"{self.verb(Phase.UP).capitalize()} and {self.verb(Phase.DOWN)} {self.subject}: in which order?"

    def state(self, change: Change, phase: Phase) -> str:
        """Return what a component is once it has changed that way."""
        return self.setting(change.component, change.to(phase))

    def setting(self, component: str, setting: Setting) -> str:
        """Return what a component is that is told this."""
        caps = capabilities_of(self.plan, component, setting)
        gates = [f"{'gate' if len(self.gates) == 1 else gate} {'on' if caps.enabled(gate) else 'off'}"
                 for gate in self.gates if gate in setting.gates]  # fmt: skip
        return ", ".join([*([setting.version] if setting.version else []), *gates])

    def reworded(self, text: str) -> str:
        """Return what was said of a component with the words for its state."""
        for one in self.plan.changes:
            lacks = f"{one.component} runs without {one.after}"
            is_ = f"is at {one.before.version}" if self.upgrades else f"has the {self.state(one, Phase.DOWN)}"
            text = text.replace(lacks, f"{one.component} {is_}")
        return text

    def move(self, move: Move) -> str:
        """Return what happens in a step."""
        match move:
            case Changes(phase, component):
                change = self.plan.change_of(component)
                before = change.to(Phase.DOWN if phase is Phase.UP else Phase.UP)
                was = f" (was {self.setting(component, before)})" if not self._flips else ""
                return f"{component}: {self.state(change, phase)}{was}"
            case Happens(_, name):
                return name
            case Turns(prepares):
                if prepares:
                    return "before the first component changes back, the workloads are prepared"
                return f"all have changed; {self.doing(Phase.DOWN)} begins here"
        return "all change once more"
