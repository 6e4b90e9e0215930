"""CertificateSigningRequest: strategy, validation and printer columns.

upstream 1.36: pkg/apis/certificates/validation/validation.go
"""

import base64
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS, Subresource
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.certificates.signer_names import SIGNER_COLUMN, validate_signer_name
from mockkube.api.printers.accessors import name_of, number, sections, string, value_at
from mockkube.api.printers.ages import format_age, human_duration
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.times import render_time

# Imported late, because it takes 30 ms and 8 MB: servers and controllers list requests where none was ever created.
if TYPE_CHECKING:
    from cryptography import x509

EXPIRATION_SECONDS_MIN: Final = 600
LEGACY_UNKNOWN_SIGNER: Final = "kubernetes.io/legacy-unknown"
# Fields of the spec that the server sets from the authenticated user.
_USER_INFO_FIELDS: Final = ("username", "uid", "groups", "extra")
_USAGES: Final = tuple(
    sorted(
        (
            *("signing", "digital signature", "content commitment", "key encipherment", "key agreement"),
            *("data encipherment", "cert sign", "crl sign", "encipher only", "decipher only", "any", "server auth"),
            *("client auth", "code signing", "email protection", "s/mime", "ipsec end system", "ipsec tunnel"),
            *("ipsec user", "timestamping", "ocsp signing", "microsoft sgc", "netscape sgc"),
        )
    )
)
_DECISIONS: Final = ("Approved", "Denied")
_PERMANENT_CONDITIONS: Final = ("Approved", "Denied", "Failed")
_STATUSES: Final = ("False", "True", "Unknown")
_CONDITIONS: Final = "status.conditions"


class CertificateSigningRequestStrategy(StatusStrategy):
    """Strategy of CertificateSigningRequest; the spec is immutable.

    Conditions are written through `approval`, the certificate through `status`.
    """

    tracks_generation = False
    records_requester = True
    selectable_field_names = ("spec.signerName",)

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return the signer name."""
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName", "")}

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a path segment, which is all that upstream requires here."""
        return names.check_path_segment(name)

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status and set the requester from the authenticated user."""
        super().prepare_for_create(obj, context)
        for name in _USER_INFO_FIELDS:
            obj["spec"].pop(name, None)
        # Signers trust these fields, so what the client sent in them is discarded above.
        obj["spec"].update(context.requester)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec, and what the written subresource must not change of the status."""
        new["spec"] = old["spec"]
        before = old.get("status") or {}
        match context.subresource:
            case "status":
                _restore_decisions(new, old)
                _set_condition_times(new, old, context)
            case "approval":
                _set_condition_times(new, old, context)
                conditions = (new.get("status") or {}).get("conditions")
                status = {name: value for name, value in before.items() if name != "conditions"}
                new["status"] = {**status, "conditions": conditions} if conditions else status
            case _:
                new["status"] = before

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate request, usages and signer."""
        return _validate_request(obj, None)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and changes of conditions and certificate."""
        errors = _validate_request(new, old)
        for kind in _PERMANENT_CONDITIONS:
            if len(_conditions_of_type(new, kind)) < len(_conditions_of_type(old, kind)):
                errors.append(forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"'))
        if context.subresource != "approval":
            errors += _validate_decisions(new, old)
        return errors + _validate_certificate_change(new, old, issuing=context.subresource == "status")


def _conditions(obj: ReadOnlyObject) -> list[Object]:
    return (obj.get("status") or {}).get("conditions") or []


def _conditions_of_type(obj: ReadOnlyObject, kind: str) -> list[Object]:
    return [each for each in _conditions(obj) if each.get("type") == kind]


def _restore_decisions(new: Object, old: ReadOnlyObject) -> None:
    for kind in _DECISIONS:
        before, given = _conditions_of_type(old, kind), _conditions(new)
        indexes = [index for index, each in enumerate(given) if each.get("type") == kind]
        # A status update that adds or removes a decision is left alone here, so that validation rejects it instead of
        # silently reverting it.
        if len(indexes) == len(before):
            for index_of_decision, condition in zip(indexes, before, strict=True):
                given[index_of_decision] = dict(condition)


def _set_condition_times(new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
    now = render_time(context.now)
    for condition in _conditions(new):
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        same = (
            each
            for each in _conditions_of_type(old, condition.get("type", ""))
            if each.get("status") == condition.get("status")
        )
        since = next((each["lastTransitionTime"] for each in same if each.get("lastTransitionTime")), now)
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since


def _validate_request(obj: ReadOnlyObject, old: ReadOnlyObject | None) -> list[FieldError]:
    spec, before = obj["spec"], (old or {}).get("spec") or {}
    message = _find_request_error(spec.get("request") or "")
    errors = [invalid("spec.request", spec.get("request"), message)] if message else []
    errors += _validate_usages(spec.get("usages") or [], before.get("usages") or [])
    signer = spec.get("signerName", "")
    if signer == LEGACY_UNKNOWN_SIGNER and before.get("signerName") != LEGACY_UNKNOWN_SIGNER:
        errors.append(invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version"))
    else:
        errors += validate_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < EXPIRATION_SECONDS_MIN:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, detail))
    errors += _validate_conditions(obj, old)
    issued, earlier = _certificate_of(obj), _certificate_of(old or {})
    # A malformed certificate of an older server may be replaced by another malformed one.
    if old is None or (issued != earlier and _find_certificate_error(earlier) is None):
        message = _find_certificate_error(issued)
        if message:
            errors.append(invalid("status.certificate", "<certificate data>", message))
    return errors


def _validate_usages(usages: list[str], before: list[str]) -> list[FieldError]:
    errors = [] if usages else [required("spec.usages")]
    # Each rule is skipped if the stored request violates it.
    if all(usage in _USAGES for usage in before):
        unknown = ((index, usage) for index, usage in enumerate(usages) if usage not in _USAGES)
        errors += [not_supported(f"spec.usages[{index}]", usage, _USAGES) for index, usage in unknown]
    if len(set(before)) == len(before):
        errors += [
            duplicate(f"spec.usages[{index}]", usages[index]) for index in sorted(find_duplicate_indexes(usages))
        ]
    return errors


def _validate_conditions(obj: ReadOnlyObject, old: ReadOnlyObject | None) -> list[FieldError]:
    before = [each.get("type", "") for each in _conditions(old or {})]
    kinds = [each.get("type", "") for each in _conditions(obj)]
    errors = []
    earlier = set[str]()
    for index, condition in enumerate(_conditions(obj)):
        at, kind, status = f"{_CONDITIONS}[{index}]", kinds[index], condition.get("status", "")
        if not kind and "" not in before:
            errors.append(required(f"{at}.type"))
        allowed = ("True",) if kind in _PERMANENT_CONDITIONS else _STATUSES
        if not status:
            errors.append(required(f"{at}.status"))
        elif status not in allowed:
            errors.append(not_supported(f"{at}.status", status, allowed))
        opposite = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if opposite in earlier and not set(_DECISIONS).issubset(before):
            errors.append(invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if kind in earlier and len(set(before)) == len(before):
            errors.append(duplicate(f"{at}.type", kind))
        earlier.add(kind)
    return errors


def _validate_decisions(new: ReadOnlyObject, old: ReadOnlyObject) -> list[FieldError]:
    errors = []
    for kind in _DECISIONS:
        now, before = _conditions_of_type(new, kind), _conditions_of_type(old, kind)
        if len(now) > len(before):
            errors.append(forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"'))
        elif len(now) == len(before) and now != before:
            changed = f"{json.dumps(before)} {json.dumps(now)}"
            detail = f'updates may not modify a condition of type "{kind}"\n{changed}'
            errors.append(forbidden(_CONDITIONS, detail))
    return errors


def _validate_certificate_change(new: ReadOnlyObject, old: ReadOnlyObject, *, issuing: bool) -> list[FieldError]:
    issued, before = _certificate_of(new), _certificate_of(old)
    if issued == before:
        return []
    if not issuing:
        return [forbidden("status.certificate", "updates may not set certificate content")]
    detail = "updates may not modify existing certificate content"
    return [forbidden("status.certificate", detail)] if before else []


def _certificate_of(obj: ReadOnlyObject) -> Any:
    return (obj.get("status") or {}).get("certificate") or ""


def parse_request(encoded: str) -> "x509.CertificateSigningRequest":
    """Parse `spec.request`; raise ValueError with upstream's message if it is malformed."""
    from cryptography import x509

    # upstream 1.36: pkg/apis/certificates/helpers.go, ParseCSR
    text = base64.b64decode(encoded)
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in text:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    try:
        return x509.load_pem_x509_csr(text)
    except ValueError as error:
        raise ValueError("asn1: structure error: malformed certificate request") from error


def subject_common_name(request: "x509.CertificateSigningRequest") -> str:
    """Return the common name of the request's subject: the user name."""
    from cryptography.x509 import NameOID

    return next((str(name.value) for name in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)), "")


def subject_organizations(request: "x509.CertificateSigningRequest") -> list[str]:
    """Return the organizations of the request's subject: the groups."""
    from cryptography.x509 import NameOID

    return [str(name.value) for name in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]


def _find_request_error(encoded: str) -> str | None:
    try:
        signed = parse_request(encoded).is_signature_valid
    except ValueError as error:
        return str(error)
    return None if signed else "x509: signature check failed"


def _find_certificate_error(encoded: str) -> str | None:
    from cryptography import x509

    text = base64.b64decode(encoded)
    if not text:
        return None
    kinds = [part.partition(b"-----")[0].decode() for part in text.split(b"-----BEGIN ")[1:]]
    if not kinds:
        return "must contain at least one CERTIFICATE PEM block"
    for kind in kinds:
        if kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
    try:
        x509.load_pem_x509_certificates(text)
    except ValueError:
        return "x509: malformed certificate"
    return None


def signing_request_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CertificateSigningRequest."""
    seconds = value_at(obj, "spec", "expirationSeconds")
    return [
        name_of(obj),
        format_age(obj, now),
        string(obj, "spec", "signerName") or NONE,
        string(obj, "spec", "username"),
        NONE if seconds is None else human_duration(timedelta(seconds=number(obj, "spec", "expirationSeconds"))),
        _format_progress(obj),
    ]


def _format_progress(obj: ReadOnlyObject) -> str:
    """Return the decision, with Failed and Issued if they apply."""
    kinds = {string(condition, "type") for condition in sections(obj, "status", "conditions")}
    # Both conditions are possible on objects of older servers; the denial counts.
    words = [next((kind for kind in ("Denied", "Approved") if kind in kinds), "Pending")]
    if "Failed" in kinds:
        words.append("Failed")
    if string(obj, "status", "certificate"):
        words.append("Issued")
    return ",".join(words)


CERTIFICATE_SIGNING_REQUEST = Printer(
    (
        NAME_COLUMN,
        AGE_COLUMN,
        SIGNER_COLUMN,
        text_column("Requestor", "The requesting user."),
        text_column("RequestedDuration", "Requested duration of the certificate."),
        text_column("Condition", "Decision and progress of the request."),
    ),
    signing_request_cells,
)

KIND: Final = Kind(
    "certificates.k8s.io",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    namespaced=False,
    short_names=("csr",),
    subresources=(Subresource("approval", "CertificateSigningRequest", ("get", "patch", "update")), STATUS),
    strategy=lambda _: CertificateSigningRequestStrategy(),
    printer=CERTIFICATE_SIGNING_REQUEST,
)
