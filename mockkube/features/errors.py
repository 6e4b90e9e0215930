"""Errors of component flags."""

import json


class FlagError(ValueError):
    """A component does not start with these flags; `errors` holds upstream's texts, sorted."""

    def __init__(self, *errors: str) -> None:
        self.errors = tuple(sorted(set(errors)))
        super().__init__(self.errors[0] if len(self.errors) == 1 else f"[{', '.join(self.errors)}]")


def quoted(text: str) -> str:
    """Return a text in double quotes, as Go's `%q` writes it."""
    return json.dumps(text, ensure_ascii=False)
