"""Explanations for readers of findings: the usual cause, and how objects with generated names are written."""

from collections.abc import Iterator, Mapping
from typing import Final

from mockkube.perturb.findings import Finding
from mockkube.perturb.planning import crashes, errors, watches, webhooks
from mockkube.perturb.session import SessionResult

_RETRY: Final = "a failed write is not tried again, or only later than `patience` allows"
_CAUSES: Final[Mapping[str, str]] = {
    crashes.CRASH: "after a restart it does not find out from the objects in the cluster what is done and what is not",
    crashes.RESTART: "it knows something that is not stored in the cluster, and is lost with the process",
    errors.TIMEOUT: "an error is taken for a proof that nothing was written, or is not followed by another try",
    errors.ERROR: _RETRY,
    errors.THROTTLE: _RETRY,
    errors.CONFLICT: "after a conflict the object is not read and changed again",
    errors.READ_ERROR: "a failed read is taken for an empty answer, or is not tried again",
    errors.SLOW: "it relies on how long a write takes",
    watches.LAG: "it relies on its cache: that it holds its own writes, or that kinds arrive in some order",
    watches.MISSED: "it relies on seeing each state of an object, instead of deciding by the last one",
    watches.REPEATED: "it takes each event for a change",
    watches.BROKEN: "what happened between two watches is not noticed when it lists again",
    watches.TIME_TRAVEL: "it acts on an old state: by name, without the uid or resourceVersion as a precondition",
    watches.LEADERSHIP: "it goes on without the lease, or does not begin anew with it",
    webhooks.TIMEOUT: "a failed write is not tried again; or, with failurePolicy Ignore, nobody adds what it adds",
    webhooks.SLOW: "it relies on how long a write takes",
}
_HIDDEN_STATE: Final = (
    "or it never saw the state between the steps, and need not act on it: then name the finding under `known`"
)

_ENDLESS_REMEDY: Final = (
    "Nothing else is tried, because there is no rest to compare. If the writes are meant, like a heartbeat, ignore the "
    "object as a whole in perturb.yaml: 'configmaps/heartbeat: *'."
)
_REST_REMEDY: Final = (
    "Undisturbed runs differ in whole objects, as if they had been judged before the controller was done: give a "
    "longer `quiet` in perturb.yaml, or a machine that is less busy. What is not compared hides findings."
)
_IDLE_REMEDY: Final = (
    "The controller wrote nothing in the undisturbed runs: give it something to do in the workload; if it is slow to "
    "begin, give a longer `quiet` in perturb.yaml."
)


def describe_cause(finding: Finding) -> str:
    """Return what usually causes such a finding; empty if nothing can be said."""
    perturbation = finding.record.perturbation
    cause = "" if perturbation is None else _CAUSES.get(perturbation.kind, "")
    if perturbation is not None and perturbation.kind == watches.LAG and len(perturbation.steps) > 1:
        return f"{cause}; {_HIDDEN_STATE}"
    return cause


def explain_names(result: SessionResult) -> str:
    """Return how to read the names of objects in the findings; empty if they explain themselves."""
    texts = (problem.text for finding in result.findings for problem in finding.problems)
    if not any("*#" in text or "* of " in text for text in texts):
        return ""
    return "Generated names are written as PREFIX* of OWNER#N: the N-th object of the owner with such a name."


def warn_about_rest(result: SessionResult) -> str:
    """Return that undisturbed runs differ too much; empty if they do not."""
    return _REST_REMEDY if result.reference.differs_in_objects else ""


def warn_about_idleness(result: SessionResult) -> str:
    """Return that the controller has written nothing undisturbed; empty if it has."""
    return "" if any(one.has_controller_writes for one in result.reference.records) else _IDLE_REMEDY


def list_warnings(result: SessionResult) -> Iterator[str]:
    """Yield why little can be concluded from the result, and what to do about it."""
    yield from filter(None, (warn_about_rest(result), warn_about_idleness(result)))
    if result.undisturbed and result.reference.last.endless_writes:
        yield _ENDLESS_REMEDY
