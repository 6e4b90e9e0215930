"""Command line that repeats a result: what the user gave, without what only says where to write it."""

from collections.abc import Iterator
from typing import Any, Final

import click
from click.core import ParameterSource

_OUTPUTS: Final = ("report", "picture", "runbook", "output", "quiet")


def list_arguments(context: click.Context) -> list[str]:
    """Return the arguments and options that the user gave; arguments first."""
    given = [one for one in context.command.params if _is_given(context, one)]
    given.sort(key=lambda one: not isinstance(one, click.Argument))
    return [word for one in given for word in _list_words(one, context.params[str(one.name)])]


def _is_given(context: click.Context, parameter: click.Parameter) -> bool:
    name = str(parameter.name)
    return name not in _OUTPUTS and context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _list_words(parameter: click.Parameter, value: Any) -> Iterator[str]:
    values = value if isinstance(value, tuple) else (value,)
    if not isinstance(parameter, click.Option):
        yield from map(str, values)
        return
    flag = max(parameter.opts, key=len)
    for one in values:
        if parameter.is_flag:
            yield flag if one else parameter.secondary_opts[0]
        else:
            yield from (flag, str(one))
