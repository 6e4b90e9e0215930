"""Canonical integers: the values that `Gt` and `Lt` of tolerations compare.

upstream 1.36: api/core/v1/toleration.go, apimachinery/pkg/api/validate/content/decimal_int.go
"""

from mockkube_cel.golang.strconv import NumberError, parse_int64

from mockkube.api import names


def parse_canonical(text: str) -> int:
    """Parse a canonical 64-bit integer; raise NumberError with upstream's text for anything else."""
    errors = names.check_decimal_integer(text)
    if errors:
        raise NumberError(",".join(errors))
    return parse_int64(text)


def validate_integer(text: str) -> list[str]:
    """Return upstream's validation errors for a value of `Gt` or `Lt`: its form first, then its range."""
    errors = names.check_decimal_integer(text)
    try:
        parse_int64(text)
    except NumberError as error:
        errors.append(str(error))
    return errors
