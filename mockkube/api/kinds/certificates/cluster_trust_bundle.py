"""ClusterTrustBundle: strategy, validation and printer columns."""

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, too_long
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.certificates.signer_names import SIGNER_COLUMN, validate_signer_name
from mockkube.api.printers.accessors import name_of, string
from mockkube.api.printers.table import NAME_COLUMN, NONE, Cell, Printer
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_immutable_field

BUNDLE_BYTES_MAX: Final = 1024 * 1024
_BUNDLE_PATH: Final = "spec.trustBundle"
_OMITTED_VALUE: Final = "<value omitted>"
_PEM_BLOCK: Final = re.compile(
    r"^-----BEGIN (?P<type>[^\n]*?)-----[ \t]*\r?\n(?P<body>(?:(?!-----)[^\n]*\n)*)-----END (?P=type)-----",
    re.MULTILINE,
)
_PEM_HEADERS: Final = re.compile(r"(?:[^\n:]+:[^\n]*\n)+\s*")


class ClusterTrustBundleStrategy(Strategy):
    """Strategy of ClusterTrustBundle; its name begins with that of its signer."""

    allow_unconditional_update = False
    selectable_field_names = ("spec.signerName",)

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Accept any name; validation of the object checks it against the signer."""
        return []

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate name, signer and certificates."""
        # upstream 1.36: pkg/apis/certificates/validation/validation.go, ValidateClusterTrustBundle
        return _validate_signer(obj) + _validate_certificates(obj["spec"].get("trustBundle", ""))

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, except unchanged certificates; reject another signer."""
        text = new["spec"].get("trustBundle", "")
        errors = _validate_signer(new)
        # A certificate that a newer parser rejects must not block updates of the metadata.
        if text != old["spec"].get("trustBundle", ""):
            errors += _validate_certificates(text)
        signer, before = new["spec"].get("signerName", ""), old["spec"].get("signerName", "")
        return errors + validate_immutable_field({"signerName": signer}, {"signerName": before}, "signerName", "spec")

    def selectable_fields(self, obj: ReadOnlyObject) -> dict[str, str]:
        """Return the signer name."""
        return {"spec.signerName": obj["spec"].get("signerName", "")}


def _validate_signer(bundle: ReadOnlyObject) -> list[FieldError]:
    signer, metadata = bundle["spec"].get("signerName", ""), bundle["metadata"]
    errors = []
    # The name is validated here, not in validate_name, because only the object names its signer. Slashes of the signer
    # become colons in the name, which is no valid subdomain as a whole.
    for field, is_prefix in (("generateName", True), ("name", False)):
        if value := metadata.get(field):
            messages = _find_name_errors(value, signer, is_prefix)
            errors += [invalid(f"metadata.{field}", value, text) for text in messages]
    return errors + (validate_signer_name(signer, "spec.signerName") if signer else [])


def _find_name_errors(name: str, signer: str, is_prefix: bool) -> list[str]:
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return names.check_dns_subdomain(name, prefix=is_prefix)
    start = signer.replace("/", ":") + ":"
    if not name.startswith(start):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {start}"]
    return names.check_dns_subdomain(name.removeprefix(start), prefix=is_prefix)


def _validate_certificates(text: str) -> list[FieldError]:
    if len(text.encode()) > BUNDLE_BYTES_MAX:
        return [too_long(_BUNDLE_PATH, BUNDLE_BYTES_MAX)]
    errors: list[FieldError] = []
    indexes_by_content: dict[bytes, list[int]] = {}
    for index, (kind, has_headers, content) in enumerate(_parse_pem_blocks(text)):
        if message := _find_block_error(kind, has_headers, content):
            errors.append(invalid(_BUNDLE_PATH, _OMITTED_VALUE, f"entry {index} {message}"))
        indexes_by_content.setdefault(content, []).append(index)
    # Upstream looks for duplicates only once every block is a certificate.
    if errors:
        return errors
    if not indexes_by_content:
        return [invalid(_BUNDLE_PATH, _OMITTED_VALUE, "at least one trust anchor must be provided")]
    repeated = (indices for indices in indexes_by_content.values() if len(indices) > 1)
    texts = (" ".join(map(str, indices)) for indices in repeated)
    return [invalid(_BUNDLE_PATH, _OMITTED_VALUE, f"duplicate trust anchor (indices [{each}])") for each in texts]


def _parse_pem_blocks(text: str) -> Iterator[tuple[str, bool, bytes]]:
    """Yield type, presence of headers and content of each PEM block."""
    # Go's pem.Decode skips text between blocks and blocks it cannot decode, so they are no error here.
    for block in _PEM_BLOCK.finditer(text):
        body = block["body"]
        headers = _PEM_HEADERS.match(body)
        encoded = "".join((body[headers.end() :] if headers else body).split())
        try:
            yield block["type"], headers is not None, base64.b64decode(encoded, validate=True)
        except binascii.Error:
            continue


def _find_block_error(kind: str, has_headers: bool, content: bytes) -> str | None:
    if kind != "CERTIFICATE":
        return f"has bad block type: {kind}"
    if has_headers:
        return "has PEM block headers"
    from cryptography import x509  # 30 ms and 8 MB, which a server without bundles need not pay for

    try:
        extensions = x509.load_der_x509_certificate(content).extensions
        is_authority = extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except ValueError:
        return "does not parse as X.509"
    except x509.ExtensionNotFound:
        is_authority = False
    return None if is_authority else "does not have the CA bit set"


def trust_bundle_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a ClusterTrustBundle."""
    return [name_of(obj), string(obj, "spec", "signerName") or NONE]


CLUSTER_TRUST_BUNDLE = Printer((NAME_COLUMN, SIGNER_COLUMN), trust_bundle_cells)

KIND: Final = Kind(
    "certificates.k8s.io",
    "ClusterTrustBundle",
    "clustertrustbundles",
    namespaced=False,
    versions=("v1", "v1beta1", "v1alpha1"),
    gate="ClusterTrustBundle",
    strategy=lambda _: ClusterTrustBundleStrategy(),
    printer=CLUSTER_TRUST_BUNDLE,
)
