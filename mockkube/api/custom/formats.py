"""String formats of schemas, as upstream's validator checks them."""

# upstream 1.36: k8s.io/kube-openapi/pkg/validation/strfmt, github.com/asaskevich/govalidator,
# apiextensions-apiserver/pkg/apiserver/validation/formats.go

import binascii
import ipaddress
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from email.errors import HeaderParseError
from email.headerregistry import Address
from typing import Final
from urllib.parse import urlsplit

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.features.versions import Version

FormatCheck = Callable[[str], bool]

_K8S_NAMES_SINCE: Final = Version(1, 34)
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_GO_DURATION: Final = re.compile(r"[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_SCALA_DURATION: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)")
_DURATION_UNITS: Final = (
    ("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "sec"), ("m", "min"), ("h", "hr", "hour"),
    ("d", "day"), ("w", "wk", "week"),
)  # fmt: skip
_LABEL: Final = re.compile(r"[^\W_]([^\W_]|-(?!$)){0,62}")
_SHORT_NAME: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_BYTE_RANGE: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_CREDIT_CARD: Final = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})"
)


def get_checked_format(kind: str, form: str, version: Version) -> str:
    """Return the format if it is checked for values of this type ("" for none or several), else ""."""
    if kind in _NUMBER_FORMATS:
        return form if form in _NUMBER_FORMATS[kind] else ""
    if kind not in ("", "string"):
        return ""
    name = form.replace("-", "")
    if name.startswith("k8s") and version < _K8S_NAMES_SINCE:
        return ""
    return form if name in CHECKS else ""


def find_unchecked(schema: ReadOnlyObject, version: Version) -> Iterator[str]:
    """Yield the formats in a schema, at any depth, that are not checked."""
    form = schema.get("format")
    if form and not get_checked_format(schema.get("type", ""), form, version):
        yield form
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), Mapping):
            yield from find_unchecked(schema[name], version)
    for each in (schema.get("properties") or {}).values():
        yield from find_unchecked(each, version)
    for name in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(name) or ():
            yield from find_unchecked(each, version)


def matches_format(form: str, text: str) -> bool:
    """Return whether a string has the format."""
    return CHECKS[form.replace("-", "")](text)


def _make_check(pattern: str, flags: int = re.ASCII) -> FormatCheck:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _make_uuid_check(third: str = "[0-9a-f]{4}", fourth: str = "[0-9a-f]{4}") -> FormatCheck:
    return _make_check(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}", re.ASCII | re.IGNORECASE)


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_datetime(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    time = _TIME.fullmatch(rest.partition("t")[0])
    return _is_date(day) and time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    # upstream: strfmt.ParseDuration accepts Scala's notation, such as "3 days", anywhere in the text.
    return any(_is_unit(match[2].lower()) for match in _SCALA_DURATION.finditer(text))


def _is_unit(word: str) -> bool:
    return any(word in names or word.startswith(names[-1]) for names in _DURATION_UNITS)


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text.encode()) > 255 or any(len(label.encode()) > 63 or not _LABEL.fullmatch(label) for label in labels):
        return False
    return len(labels) == 1 or (len(labels[-1]) >= 2 and labels[-1].isalpha())


def _is_email(text: str) -> bool:
    bare = text[text.find("<") + 1 : -1] if text.endswith(">") and "<" in text else text
    try:
        address = Address(addr_spec=bare.strip())
    except (HeaderParseError, ValueError, IndexError):
        return False
    return bool(address.username and address.domain)


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(text) and (text.startswith("/") or bool(parts.scheme)) and not re.search(r"[\x00-\x20\x7f]", text)


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    # Go's net.ParseIP accepts IPv4 addresses mapped into IPv6.
    if ":" in text:
        return "." in text and _is_ipv6(text)
    return len(parts) == 4 and all(part.isascii() and part.isdigit() and int(part) < 256 for part in parts)


def _is_ipv6(text: str) -> bool:
    try:
        return "%" not in text and bool(ipaddress.IPv6Address(text))
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch(r"[0-9]+", bits):
        return False
    if ":" in address:
        return _is_ipv6(address) and int(bits) <= 128
    return _is_ipv4(address) and int(bits) <= 32


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and bool(b64decode(text, validate=True))
    except binascii.Error:
        return False


def _is_isbn10(text: str) -> bool:
    bare = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", bare):
        return False
    digits = [10 if digit == "X" else int(digit) for digit in bare]
    return sum(place * digit for place, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    bare = re.sub(r"[\s-]", "", text)
    return (
        bool(re.fullmatch(r"[0-9]{13}", bare))
        and sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(bare)) % 10 == 0
    )


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CREDIT_CARD.fullmatch(digits):
        return False
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(digits))]
    return sum(number // 10 + number % 10 if number >= 10 else number for number in doubled) % 10 == 0


def _is_short_name(text: str) -> bool:
    return len(text) <= 63 and bool(re.fullmatch(_SHORT_NAME, text))


def _is_long_name(text: str) -> bool:
    return len(text) <= 253 and bool(re.fullmatch(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", text))


# Checked formats; names are without dashes, which upstream ignores.
CHECKS: Final[Mapping[str, FormatCheck]] = {
    "bsonobjectid": _make_check(r"[0-9a-fA-F]{24}"),
    "byte": _is_base64,
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_datetime,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _make_check(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": _is_long_name,
    "k8sshortname": _is_short_name,
    "mac": _make_check(
        r"([0-9a-fA-F]{2}([:-]))([0-9a-fA-F]{2}\2){4,6}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2,3}[0-9a-fA-F]{4}"
    ),
    "password": lambda text: True,
    "rgbcolor": _make_check(rf"rgb\({_BYTE_RANGE},{_BYTE_RANGE},{_BYTE_RANGE}\)"),
    "ssn": _make_check(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _is_uri,
    "uuid": _make_uuid_check(),
    "uuid3": _make_uuid_check("3[0-9a-f]{3}"),
    "uuid4": _make_uuid_check("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _make_uuid_check("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
}
