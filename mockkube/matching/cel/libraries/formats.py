"""Named formats and their validation: `format.dns1123Label().validate(x)`.

upstream 1.36: apiserver/pkg/cel/library/format.go, vendor/k8s.io/kube-openapi/pkg/validation/strfmt
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from mockkube_cel import costs, types, values
from mockkube_cel.declarations import CallEstimate, Function, Overload, SizedOperand, global_overload, member_overload
from mockkube_cel.golang import gotime, gourl
from mockkube_cel.sizes import REGEX_FACTOR, TRAVERSAL_FACTOR
from mockkube_cel.types import STRING
from mockkube_cel.values import NONE, Optional, size_of

from mockkube.api import names
from mockkube.lazy_dataclasses import dataclass

_FORMAT: Final = types.struct("kubernetes.NamedFormat")
_ESTIMATED_PATTERN: Final = 128
_UUID: Final = re.compile(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})", re.ASCII)
# upstream quirk: the character classes also contain a backslash.
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})")
# upstream quirk: the dot before the fraction is not escaped, so any character passes.
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A named format: its check, and the length of pattern that its cost is based on."""

    name: str
    check: Callable[[str], list[str]]
    pattern_length: int


values.register_opaque_type(
    NamedFormat, values.OpaqueType(_FORMAT, "cel.Format", lambda one, other: one.name == other.name)
)


def _uri_errors(text: str) -> list[str]:
    try:
        gourl.parse_request(text)
    except gourl.UrlError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    return len(text) == 10 and gotime.parse_timestamp(f"{text}T00:00:00Z") is not None


def _is_datetime(text: str) -> bool:
    # strfmt accepts the separators of date, time and zone in both cases.
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _error_unless(test: Callable[[str], Any], message: str) -> Callable[[str], list[str]]:
    return lambda text: [] if test(text) else [message]


FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", names.check_dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.check_dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.check_dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.check_qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", lambda text: names.check_dns_label(text, prefix=True), 30),
    "dns1123SubdomainPrefix": NamedFormat(
        "DNS1123SubdomainPrefix", lambda text: names.check_dns_subdomain(text, prefix=True), 60
    ),
    "dns1035LabelPrefix": NamedFormat(
        "DNS1035LabelPrefix", lambda text: names.check_dns1035_label(text, prefix=True), 30
    ),
    "labelValue": NamedFormat("LabelValue", names.check_label_value, 40),
    "uri": NamedFormat("URI", _uri_errors, 1103),
    "uuid": NamedFormat("uuid", _error_unless(_UUID.fullmatch, "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _error_unless(_BASE64.fullmatch, "invalid base64"), 84),
    "date": NamedFormat("date", _error_unless(_is_date, "invalid date"), 71),
    "datetime": NamedFormat("datetime", _error_unless(_is_datetime, "invalid datetime"), 71),
}


def _find_format(name: str) -> Optional:
    return Optional(FORMATS[name]) if name in FORMATS else NONE


def _validate(given: NamedFormat, text: str) -> Optional:
    errors = given.check(text)
    return Optional(errors) if errors else NONE


def _estimate_validate(operands: Sequence[SizedOperand]) -> CallEstimate:
    cost = operands[1].size.scale_by(TRAVERSAL_FACTOR)
    return CallEstimate(cost.scale_by(_ESTIMATED_PATTERN * REGEX_FACTOR))


def _charge_validate(args: Sequence[Any], result: Any) -> int:
    if type(args[0]) is not NamedFormat:
        return 1
    return costs.pattern_charge(size_of(args[1]), args[0].pattern_length)


def _declare_constant(name: str, given: NamedFormat) -> Function:
    return Function(f"format.{name}", (Overload(f"format.{name}", (), _FORMAT, lambda: given, eager=True),))


FUNCTIONS: Final = (
    Function(
        "validate",
        (member_overload("format-validate", (_FORMAT, STRING), types.optional_of(types.list_of(STRING)), _validate),),
        estimate=_estimate_validate,
        charge=_charge_validate,
    ),
    Function(
        "format.named",
        (global_overload("format-named", (STRING,), types.optional_of(_FORMAT), _find_format),),
        estimate=costs.estimate_unit,
    ),
    *(_declare_constant(name, given) for name, given in FORMATS.items()),
)
