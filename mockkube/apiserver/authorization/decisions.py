"""What an authorizer says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and why or why not, as far as there is something to say."""

    allowed: bool
    reason: str = ""
