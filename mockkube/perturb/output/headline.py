"""The answer of a session in one sentence, and what was run."""

from pathlib import Path

from mockkube.perturb.session import SessionResult
from mockkube.report.wording import count_noun


def describe_headline(result: SessionResult) -> str:
    """Return how many of the perturbations the controller does not recover from."""
    reached = count_noun(sum(one.is_reached for one in result.results), "perturbation")
    bad = sum(one.finding is not None for one in result.results)
    undisturbed = "It goes wrong even undisturbed. " if result.undisturbed else ""
    if not bad:
        return undisturbed or f"The controller recovers from each of {reached}."
    causes = count_noun(len(result.findings), "finding")
    return f"{undisturbed}The controller does not recover from {bad} of {reached}: {causes}."


def describe_scope(result: SessionResult) -> str:
    """Return the workload, the controller and the number of undisturbed runs."""
    command = f", {Path(result.options.command[0]).name}" if result.options.command else ""
    runs = count_noun(len(result.reference.records), "undisturbed run")
    return f"workload {result.workload.directory.name}{command}, {runs}, {result.seconds:.0f} s"
