"""Errors of component flags, and quoting as Go does it."""

import json


class FlagError(ValueError):
    """Flags with which a component does not start; `errors` holds upstream's texts, sorted."""

    def __init__(self, *errors: str) -> None:
        self.errors = tuple(sorted(set(errors)))
        # One error is printed as it is, several in brackets: the format of apimachinery's aggregated errors.
        super().__init__(self.errors[0] if len(self.errors) == 1 else f"[{', '.join(self.errors)}]")


def quote(text: str) -> str:
    """Quote a text as Go's `%q` does."""
    return json.dumps(text, ensure_ascii=False)
