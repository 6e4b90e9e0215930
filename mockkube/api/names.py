"""Checks of names and other short texts: each returns the errors of a text, in upstream's words.

upstream 1.36: apimachinery/pkg/util/validation, apimachinery/pkg/api/validate/content
"""

import re
from functools import lru_cache
from typing import Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_UNDERSCORED: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_UNDERSCORED: Final = rf"{_LABEL_UNDERSCORED}(\.{_LABEL_UNDERSCORED})*"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_ENV: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"

_LABEL_RE: Final = re.compile(_LABEL)
_LABEL_1035_RE: Final = re.compile(_LABEL_1035)
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)
_SUBDOMAIN_UNDERSCORED_RE: Final = re.compile(_SUBDOMAIN_UNDERSCORED)
_WILDCARD_RE: Final = re.compile(_WILDCARD)
_KEY_RE: Final = re.compile(_KEY)
_VALUE_RE: Final = re.compile(_VALUE)
_IDENTIFIER_RE: Final = re.compile(_IDENTIFIER)
_ENV_RE: Final = re.compile(_ENV)
_CONFIG_KEY_RE: Final = re.compile(_CONFIG_KEY)
_HEADER_RE: Final = re.compile(_HEADER)
_PERCENT_RE: Final = re.compile(_PERCENT)
_PORT_RE: Final = re.compile("[-a-z0-9]+")
_LETTER_RE: Final = re.compile("[a-z]")
_INTEGER_RE: Final = re.compile("0|-?[1-9][0-9]*")

LABEL_LENGTH_MAX: Final = 63
SUBDOMAIN_LENGTH_MAX: Final = 253
PORT_NAME_LENGTH_MAX: Final = 15
ID_MAX: Final = 2**31 - 1

_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_KEY_EXAMPLES: Final = ("MyName", "my.name", "123-abc")
NOT_EMPTY: Final = "must be non-empty"


def format_regex_error(text: str, form: str, *examples: str) -> str:
    """Return the error for a text of the wrong form: description, examples, regular expression."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} ({f'e.g. {shown}' if shown else ''}regex used for validation is '{form}')"


def format_range_error(least: int, greatest: int) -> str:
    """Return the error for a number out of its range."""
    return f"must be between {least} and {greatest}, inclusive"


def byte_length(text: str) -> int:
    """Return the length in bytes of UTF-8, which is what upstream counts."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _check_length(text: str, length_max: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {length_max} {unit}"] if byte_length(text) > length_max else []


def _mask_trailing_dash(name: str) -> str:
    """Replace a trailing dash: a generateName may end in one, because random letters follow it."""
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def check_dns_subdomain(name: str, *, prefix: bool = False, unit: str = "characters") -> list[str]:
    """Check a DNS subdomain: labels joined by dots, 253 bytes at most."""
    if prefix:
        name = _mask_trailing_dash(name)
    if len(name) <= SUBDOMAIN_LENGTH_MAX and _SUBDOMAIN_RE.fullmatch(name):
        return []
    found = _check_length(name, SUBDOMAIN_LENGTH_MAX, unit)
    if not _SUBDOMAIN_RE.fullmatch(name):
        found.append(format_regex_error(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return found


def check_dns_subdomain_with_underscores(name: str) -> list[str]:
    """Check a DNS subdomain that may have underscores."""
    found = _check_length(name, SUBDOMAIN_LENGTH_MAX)
    if not _SUBDOMAIN_UNDERSCORED_RE.fullmatch(name):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        found.append(format_regex_error(text, _SUBDOMAIN_UNDERSCORED, "example.com"))
    return found


def check_wildcard_subdomain(name: str) -> list[str]:
    """Check a DNS subdomain whose first label is a star."""
    found = _check_length(name, SUBDOMAIN_LENGTH_MAX)
    if not _WILDCARD_RE.fullmatch(name):
        text = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        found.append(format_regex_error(text, _WILDCARD, "*.example.com"))
    return found


def check_dns_label(name: str, *, prefix: bool = False, unit: str = "characters") -> list[str]:
    """Check a DNS label (RFC 1123), 63 bytes at most."""
    if prefix:
        name = _mask_trailing_dash(name)
    if len(name) <= LABEL_LENGTH_MAX and _LABEL_RE.fullmatch(name):
        return []
    found = _check_length(name, LABEL_LENGTH_MAX, unit)
    if not _LABEL_RE.fullmatch(name):
        # upstream names dots as the only problem if the rest is in order.
        dotted = _SUBDOMAIN_RE.fullmatch(name)
        found.append(
            "must not contain dots" if dotted else format_regex_error(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
        )
    return found


def check_dns1035_label(name: str, *, prefix: bool = False) -> list[str]:
    """Check a DNS label that starts with a letter (RFC 1035)."""
    if prefix:
        name = _mask_trailing_dash(name)
    found = _check_length(name, LABEL_LENGTH_MAX)
    if not _LABEL_1035_RE.fullmatch(name):
        found.append(format_regex_error(_LABEL_1035_TEXT, _LABEL_1035, "my-name", "abc-123"))
    return found


def check_path_segment(name: str, *, prefix: bool = False) -> list[str]:
    """Check a name that only has to fit between two slashes of a URL path."""
    # Random letters follow a generateName, so the name itself cannot be one of these.
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    # Both would change the path of the object's URL.
    return [f"may not contain '{part}'" for part in "/%" if part in name]


def check_qualified_name(name: str) -> list[str]:
    """Check a label key: an optional DNS subdomain and a slash, then a name of 63 bytes at most."""
    # A copy: callers append to the errors, and must not change the cached ones.
    return list(_check_qualified_name_cached(name))


@lru_cache(maxsize=4096)  # keys of labels and annotations: the same few in many objects
def _check_qualified_name_cached(name: str) -> tuple[str, ...]:
    domain, slash, local = name.rpartition("/")
    if "/" in domain:
        text = format_regex_error(_KEY_TEXT, _KEY, *_KEY_EXAMPLES)
        return (f"a valid label key {text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    # A bad prefix does not hide errors of the name part; upstream reports both.
    found = []
    if slash:
        found = [
            f"prefix part {text}" for text in (check_dns_subdomain(domain, unit="bytes") if domain else [NOT_EMPTY])
        ]
    if not local:
        found.append(f"name part {NOT_EMPTY}")
    else:
        found += [f"name part {text}" for text in _check_length(local, LABEL_LENGTH_MAX, "bytes")]
    if not _KEY_RE.fullmatch(local):
        found.append(f"name part {format_regex_error(_KEY_TEXT, _KEY, *_KEY_EXAMPLES)}")
    return tuple(found)


def check_label_value(value: str) -> list[str]:
    """Check the value of a label: empty, or like the name part of its key."""
    if len(value) <= LABEL_LENGTH_MAX and _VALUE_RE.fullmatch(value):
        return []
    found = _check_length(value, LABEL_LENGTH_MAX, "bytes")
    if not _VALUE_RE.fullmatch(value):
        text = f"a valid label must be an empty string or {_KEY_TEXT.removeprefix('must ')}"
        found.append(format_regex_error(text, _VALUE, "MyValue", "my_value", "12345"))
    return found


def check_c_identifier(name: str) -> list[str]:
    """Check an identifier of the language C."""
    if _IDENTIFIER_RE.fullmatch(name):
        return []
    text = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [format_regex_error(text, _IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def _check_dot_prefix(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def check_env_var_name(name: str) -> list[str]:
    """Check the name of an environment variable by the strict rule."""
    found = []
    if not _ENV_RE.fullmatch(name):
        text = (
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
            "and must not start with a digit"
        )
        found.append(format_regex_error(text, _ENV, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    return found + _check_dot_prefix(name)


def check_relaxed_env_var_name(name: str) -> list[str]:
    """Check the name of an environment variable by the relaxed rule: printable ASCII without `=`."""
    if not name:
        return [f"environment variable name {NOT_EMPTY}"]
    if all(" " <= letter <= "~" and letter != "=" for letter in name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def check_config_map_key(key: str) -> list[str]:
    """Check a key of a ConfigMap or Secret, which becomes the name of a file."""
    found = _check_length(key, SUBDOMAIN_LENGTH_MAX)
    if not _CONFIG_KEY_RE.fullmatch(key):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(format_regex_error(text, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return found + _check_dot_prefix(key)


def check_in_range(value: int, least: int, greatest: int) -> list[str]:
    """Check that a number lies between two others."""
    return [] if least <= value <= greatest else [format_range_error(least, greatest)]


def check_port_number(port: int) -> list[str]:
    """Check the number of a port."""
    return check_in_range(port, 1, 65535)


def check_unix_id(number: int) -> list[str]:
    """Check a user's or group's number."""
    return check_in_range(number, 0, ID_MAX)


def check_port_name(name: str) -> list[str]:
    """Check the IANA name of a port: 15 bytes, a letter, no hyphens at the ends or next to each other."""
    found = _check_length(name, PORT_NAME_LENGTH_MAX)
    if not _PORT_RE.fullmatch(name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER_RE.search(name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def check_http_header_name(name: str) -> list[str]:
    """Check the name of an HTTP header."""
    if _HEADER_RE.fullmatch(name):
        return []
    return [
        format_regex_error(
            "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
        )
    ]


def check_percent(value: str) -> list[str]:
    """Check a percentage: digits and a percent sign."""
    if _PERCENT_RE.fullmatch(value):
        return []
    text = "a valid percent string must be a numeric string followed by an ending '%'"
    return [format_regex_error(text, _PERCENT, "1%", "93%")]


def check_decimal_integer(value: str) -> list[str]:
    """Check an integer in canonical form: no plus sign, no leading zeros."""
    # upstream checks emptiness apart: the text of the regular expression would say less.
    if not value:
        return [NOT_EMPTY]
    return [] if _INTEGER_RE.fullmatch(value) else ["must be a valid decimal integer in canonical form"]
