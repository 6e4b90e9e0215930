"""Why a pod is where it is, or nowhere, as people read it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mockkube.scheduler.why import Explanation

_NODES_SHOWN_MAX: Final = 20


def lines(explanation: Explanation) -> Iterator[str]:
    """Yield the explanation, line by line; of many nodes the first few."""
    yield f"Pod {explanation.pod} {explanation.state}."
    yield f"The scheduler: {explanation.decision}"
    rows = [(one.node, one.status.plugin, one.status.message, one.detail) for one in explanation.refused]
    if rows:
        yield ""
        yield from _table(("NODE", "REFUSED BY", "REASON", "EXACTLY"), rows[:_NODES_SHOWN_MAX])
        if len(rows) > _NODES_SHOWN_MAX:
            yield f"... and {len(rows) - _NODES_SHOWN_MAX} more nodes (-o json shows all)"
    ranked = sorted(explanation.scores.items(), key=lambda item: -sum(item[1].values()))
    if ranked:
        yield ""
        scored = [(node, str(sum(own.values())), _by_plugin(own)) for node, own in ranked[:_NODES_SHOWN_MAX]]
        yield from _table(("NODE", "SCORE", "OF WHICH"), scored)
    if not explanation.node:
        yield ""
        yield from _help(explanation)


def _help(explanation: Explanation) -> Iterator[str]:
    helpful = [(one.kind, f"{one.component} {one.change}".strip(), one.node) for one in explanation.what_if]
    if helpful:
        yield from _table(("IT WOULD HELP", "IF", "THEN ON"), helpful)
    else:
        yield "No single change that was tried would help."


def _by_plugin(scores: Mapping[str, int]) -> str:
    return ", ".join(f"{plugin} {score}" for plugin, score in scores.items() if score)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        yield "   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
