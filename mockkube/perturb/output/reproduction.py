"""Command line that repeats one perturbation."""

import shlex

from mockkube.perturb.session import SessionResult
from mockkube.report.wording import count_noun


def format_command(result: SessionResult, perturbation_id: str) -> str:
    """Return the command that repeats a perturbation."""
    workload = result.workload
    words = ["mockkube", "perturb", "--workload", str(workload.directory)]
    if perturbation_id != "undisturbed":
        words += ["--only", perturbation_id]
    words += ["--seed", str(result.options.seed)]
    if result.options.command:
        words += ["--", *result.options.command]
    return shlex.join(words)


def summarize(result: SessionResult) -> str:
    """Return the result in one line."""
    count = len(result.findings)
    tried = len(result.results)
    reached = sum(one.record.is_reached for one in result.results)
    not_tried = f", {len(result.not_tried)} not tried for lack of time" if result.not_tried else ""
    return (
        f"{count or 'no'} finding{'s' * (count != 1)} in {count_noun(tried, 'perturbation')} "
        f"({reached} took place{not_tried}), {result.seconds:.0f} s"
    )
