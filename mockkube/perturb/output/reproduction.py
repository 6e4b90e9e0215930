"""Command line that repeats one perturbation."""

import shlex

from mockkube.perturb.findings import Finding
from mockkube.perturb.session import SessionResult
from mockkube.report.wording import count_noun


def format_command(result: SessionResult, finding: Finding) -> str:
    """Return the command that repeats a finding."""
    workload = result.workload
    words = ["mockkube", "perturb", "--workload", str(workload.directory)]
    if finding.record.perturbation is not None:
        words += ["--only", finding.id]
    if steps := finding.steps or sorted(workload.chosen_steps):
        words += ["--steps", ",".join(map(str, steps))]
    words += ["--seed", str(result.options.seed)]
    if result.options.command:
        words += ["--", *result.options.command]
    return shlex.join(words)


def summarize(result: SessionResult) -> str:
    """Return the result in one line."""
    count = len(result.findings)
    tried = len(result.results)
    reached = sum(one.is_reached for one in result.results)
    not_tried = f", {len(result.not_tried)} not tried for lack of time" if result.not_tried else ""
    if not tried and not result.not_tried:
        return f"{count_noun(count, 'finding')} without any perturbation, {result.seconds:.0f} s"
    runs = f", {result.runs} runs" if result.runs < tried else ""
    return (
        f"{count or 'no'} finding{'s' * (count != 1)} in {count_noun(tried, 'perturbation')} "
        f"({reached} took place{not_tried}){runs}, {result.seconds:.0f} s"
    )
