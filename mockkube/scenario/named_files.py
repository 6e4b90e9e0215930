"""Find the files that steps name, so that another machine can be given a copy of them."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mockkube.scenario.bindings import resolve
from mockkube.scenario.errors import StepFailed

# Between words of a command line or a script.
_SEPARATORS: Final = re.compile(r"[\s'\"=,;|&<>()]+")


def find_named_files(arguments: Iterable[Any], directory: Path, bindings: Mapping[str, Any]) -> list[Path]:
    """Return the files that arguments of steps name, as a whole text or as a word of it.

    A name that only a step of the run makes is not known yet, so its file is not found.
    """
    words = {word: None for text in _list_texts(arguments, bindings) for word in (text, *_SEPARATORS.split(text))}
    return [directory / word for word in words if word and os.path.isfile(directory / word)]


def _list_texts(value: Any, bindings: Mapping[str, Any]) -> Iterator[str]:
    """Yield all texts in a value, with variables resolved where that is possible."""
    if isinstance(value, str):
        yield value
        if "$" in value:
            with suppress(StepFailed):  # a variable that the run binds
                yield str(resolve(value, bindings))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _list_texts(one, bindings)
    elif isinstance(value, Iterable):
        for one in value:
            yield from _list_texts(one, bindings)
