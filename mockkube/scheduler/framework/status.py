"""Status: the result of a plugin."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final, Self

from mockkube.lazy_dataclasses import dataclass

_NOTHING: Final[Mapping[str, Any]] = {}


class Code(StrEnum):
    """Codes of a status, with upstream's names."""

    SUCCESS = "Success"
    ERROR = "Error"
    # The node is rejected; evicting pods may change that.
    UNSCHEDULABLE = "Unschedulable"
    # The node is rejected, and no eviction would change that.
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    # Not decided yet: call the plugin again when something has changed, or when its deadline has come.
    WAIT = "Wait"
    # Nothing to do for this pod: skip the plugin at the next extension point.
    SKIP = "Skip"
    # Rejected until something outside the scheduler has happened, such as an allocation by a driver.
    PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class Status:
    """Code with reasons. `facts` hold the values that were compared, for explanations; they decide nothing."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    facts: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, compare=False)

    @classmethod
    def unschedulable(cls, *reasons: str, **facts: Any) -> Self:
        """Return a rejection that evicting pods may resolve."""
        return cls(Code.UNSCHEDULABLE, reasons, facts=facts)

    @classmethod
    def unresolvable(cls, *reasons: str, **facts: Any) -> Self:
        """Return a rejection that no eviction resolves."""
        return cls(Code.UNRESOLVABLE, reasons, facts=facts)

    @classmethod
    def error(cls, reason: str) -> Self:
        """Return an internal error: the attempt ends and is retried."""
        return cls(Code.ERROR, (reason,))

    @classmethod
    def wait(cls, reason: str = "") -> Self:
        """Return a status that asks for another call later."""
        return cls(Code.WAIT, (reason,) if reason else ())

    @classmethod
    def pending(cls, *reasons: str, **facts: Any) -> Self:
        """Return a rejection until something outside has happened."""
        return cls(Code.PENDING, reasons, facts=facts)

    @property
    def is_success(self) -> bool:
        """True for SUCCESS."""
        return self.code is Code.SUCCESS

    @property
    def is_rejected(self) -> bool:
        """True if the pod is rejected, as opposed to accepted, skipped or failed."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)

    @property
    def message(self) -> str:
        """Reasons, joined."""
        return ", ".join(self.reasons)

    def with_plugin(self, plugin: str) -> "Status":
        """Return the status with its plugin set."""
        return self if self.plugin == plugin else replace(self, plugin=plugin)


SUCCESS: Final = Status(Code.SUCCESS)
SKIP: Final = Status(Code.SKIP)
