"""Health: `/livez`, `/readyz` and the older `/healthz`, each check by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mockkube.apiserver.registry.options import Query


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be well; `healthy` says whether it is."""

    name: str
    healthy: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Report:
    """The answer to a health request."""

    code: int
    text: str


def report(endpoint: str, name: str, checks: Sequence[Check], query: Query) -> Report | None:
    """Run the checks of an endpoint, or the one that is named; None when there is none of that name."""
    # upstream 1.36: apiserver/pkg/server/healthz/healthz.go
    if name:
        named = [check for check in checks if check.name == name]
        if not named:
            return None
        return Report(200, "ok") if named[0].healthy() else Report(500, f"internal server error: {name} failed\n")
    excluded = set(query.get("exclude", ()))
    lines, failed = [], []
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
        elif check.healthy():
            lines.append(f"[+]{check.name} ok")
        else:
            lines.append(f"[-]{check.name} failed: reason withheld")
            failed.append(check.name)
    if failed:
        return Report(500, "\n".join([*lines, f"{endpoint} check failed\n"]))
    if "verbose" in query:
        return Report(200, "\n".join([*lines, f"{endpoint} check passed\n"]))
    return Report(200, "ok")
