"""What a plugin answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Self

_NOTHING: Final[Mapping[str, Any]] = {}


class Code(StrEnum):
    """The verdict, in upstream's words."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    """Not here as things are; evicting pods may change that."""
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """Not here, and no eviction would change that."""
    WAIT = "Wait"
    """Not yet: ask again when something has changed, or when the plugin's deadline has come."""
    SKIP = "Skip"
    """Nothing to do for this pod: leave the plugin out of the next phase."""
    PENDING = "Pending"
    """Not yet, something outside has to happen first."""


@dataclass(frozen=True, slots=True)
class Status:
    """A verdict with its reasons. `facts` say exactly what was compared, for explanations; they decide nothing."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    facts: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, compare=False)

    @classmethod
    def unschedulable(cls, *reasons: str, **facts: Any) -> Self:
        """Refuse in a way that evicting pods may cure."""
        return cls(Code.UNSCHEDULABLE, reasons, facts=facts)

    @classmethod
    def unresolvable(cls, *reasons: str, **facts: Any) -> Self:
        """Refuse in a way that no eviction cures."""
        return cls(Code.UNRESOLVABLE, reasons, facts=facts)

    @classmethod
    def error(cls, reason: str) -> Self:
        """Report a failure of the machinery: the attempt ends and is retried."""
        return cls(Code.ERROR, (reason,))

    @classmethod
    def wait(cls, reason: str = "") -> Self:
        """Ask to be asked again."""
        return cls(Code.WAIT, (reason,) if reason else ())

    @classmethod
    def pending(cls, *reasons: str, **facts: Any) -> Self:
        """Refuse until something outside has happened."""
        return cls(Code.PENDING, reasons, facts=facts)

    @property
    def ok(self) -> bool:
        """Whether it is a success."""
        return self.code is Code.SUCCESS

    @property
    def rejected(self) -> bool:
        """Whether the pod is refused, as opposed to accepted, skipped or failed."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)

    @property
    def message(self) -> str:
        """The reasons as one text."""
        return ", ".join(self.reasons)

    def of(self, plugin: str) -> "Status":
        """Return the status as the verdict of a plugin."""
        return self if self.plugin == plugin else replace(self, plugin=plugin)


SUCCESS: Final = Status(Code.SUCCESS)
SKIP: Final = Status(Code.SKIP)
