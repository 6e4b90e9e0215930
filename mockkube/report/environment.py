"""Jinja2 environment of the HTML pages.

Only modules that make a page import this one: every other command starts without loading Jinja2."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mockkube.report.markup import strip_markup, to_html
from mockkube.report.sentences.events import annotate_message
from mockkube.report.wording import SHORT, count_noun, format_order, join_words, tool_name


def render_page(template: str, **values: Any) -> str:
    """Return a page made from a template of this package."""
    return _environment().get_template(template).render(values)


def read_template(name: str) -> str:
    """Return the text of a file of the templates."""
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


@cache
def _environment() -> Environment:
    environment = Environment(
        # The name of the package is derived, so that templates are found after a move, too.
        loader=PackageLoader(__name__.rpartition(".")[0]),
        autoescape=True,
        # A misspelt name in a template must fail in tests instead of leaving a gap in a page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "code": "`{}`".format,
        "prose": lambda text: Markup(to_html(text)),
        "plain": strip_markup,
        "annotated": annotate_message,
        "px": "{:.1f}".format,
        "rounded": "{:.0f}".format,
    }
    environment.globals |= {
        "SHORT": SHORT,
        "count_noun": count_noun,
        "format_order": format_order,
        "join_words": join_words,
        "tool_name": tool_name,
    }
    return environment
