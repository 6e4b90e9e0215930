"""Picture of a session: a tile for each perturbation."""

import shlex

from mockkube.perturb.output.headline import describe_headline, describe_scope
from mockkube.perturb.output.hints import list_warnings
from mockkube.perturb.output.tiles import list_keys, list_tiles
from mockkube.perturb.session import SessionResult
from mockkube.report.pictures.card import Card, render_card
from mockkube.report.wording import tool_name


def render_picture(result: SessionResult) -> str:
    """Return the picture as SVG."""
    command = ["mockkube", "perturb", "--workload", str(result.workload.directory)]
    if result.options.command:
        command += ["--", *result.options.command]
    rows = list_tiles(result, {})
    return render_card(
        Card(
            "mockkube perturb",
            describe_scope(result),
            describe_headline(result),
            "bad" if result.findings else "wait" if any(list_warnings(result)) else "good",
            shlex.join(command),
            lines=[f"{one.text}: {one.problems[0].text}" for one in result.findings],
            tiles=rows,
            keys=list_keys(rows),
            footer=f"{tool_name()}, in real time",
        )
    )
