"""What all pages share: one file, no script, nothing fetched from anywhere."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from mockkube.scenario.report.prose import html


def document(title: str, body: Iterable[str]) -> str:
    """Return a whole page."""
    style = files("mockkube.scenario.report").joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def badge(text: str, tone: str) -> str:
    """Return a word with a colour; the word alone says it too."""
    return f'<span class="badge {tone}">{escape(text)}</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table whose cells are HTML already; on a narrow screen each row becomes a block with named parts."""
    columns = "".join(f'<th scope="col">{escape(one)}</th>' for one in head)
    body = "".join(_row(head, row) for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    cells = zip(head, row, strict=True)
    return "<tr>" + "".join(f'<td data-head="{escape(name)}">{cell}</td>' for name, cell in cells) + "</tr>"


def folded(summary: str, body: str, *, opened: bool = False) -> str:
    """Return what is shown when somebody asks for it, or at once and can be put away."""
    return f"<details{' open' * opened}><summary>{escape(summary)}</summary>{body}</details>"


def paragraphs(sentences: Iterable[str]) -> str:
    """Return sentences of `prose` as a list."""
    return f"<ul>{''.join(f'<li>{html(one)}</li>' for one in sentences)}</ul>"


def box(title: str, body: str, tone: str = "") -> str:
    """Return something that stands out."""
    return f'<section class="box {tone}"><h2>{escape(title)}</h2>{body}</section>'
