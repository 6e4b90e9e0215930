"""Integers in the one canonical form that `Gt` and `Lt` of tolerations accept.

upstream 1.36: api/core/v1/toleration.go, apimachinery/pkg/api/validate/content/decimal_int.go
"""

from mockkube_cel.golang.strconv import NumberError, parse_int64

from mockkube.api import names


def parse_canonical(text: str) -> int:
    """Return the 64-bit integer written canonically; NumberError, in upstream's words, for anything else."""
    wrong = names.decimal_integer(text)
    if wrong:
        raise NumberError(",".join(wrong))
    return parse_int64(text)


def wrong_with(text: str) -> list[str]:
    """Say what upstream's validation says of a value for `Gt` or `Lt`: its form first, then its range."""
    wrong = names.decimal_integer(text)
    try:
        parse_int64(text)
    except NumberError as error:
        wrong.append(str(error))
    return wrong
