"""The answer of a session in one sentence, and what was run."""

from pathlib import Path

from mockkube.perturb.output.hints import warn_about_idleness, warn_about_rest
from mockkube.perturb.session import SessionResult
from mockkube.report.wording import count_noun


def describe_headline(result: SessionResult) -> str:
    """Return how many of the perturbations the controller does not recover from, and whether that can be relied on."""
    count = sum(one.is_reached for one in result.results)
    bad = sum(one.finding is not None for one in result.results)
    undisturbed = "The controller goes wrong even undisturbed. " if result.undisturbed else ""
    left = f" Not tried for lack of time: {len(result.not_tried)}." if result.not_tried else ""
    if bad:
        causes = count_noun(len(result.findings), "finding")
        return f"{undisturbed}The controller does not recover from {bad} of {_count(count)}: {causes}.{left}"
    if undisturbed:
        return undisturbed.rstrip()
    if not count:
        return f"No perturbation took place.{left}"
    recovers = f"The controller recovers from {'all ' if count > 1 else ''}{_count(count)}"
    if warn_about_idleness(result):
        return f"{recovers}, but it wrote nothing at all.{left}"
    if warn_about_rest(result):
        return f"{recovers}, but undisturbed runs differ so much that little was compared.{left}"
    return f"{recovers}.{left}"


def _count(perturbations: int) -> str:
    return count_noun(perturbations, "perturbation")


def describe_scope(result: SessionResult) -> str:
    """Return the workload, the controller and the number of undisturbed runs."""
    command = f", {Path(result.options.command[0]).name}" if result.options.command else ""
    runs = count_noun(len(result.reference.records), "undisturbed run")
    return f"workload {result.workload.directory.name}{command}, {runs}, {result.seconds:.0f} s"
