"""TLS contexts that verify certificates as Go's crypto/x509 does."""

import ssl
import tempfile
from typing import Final

_PARTIAL_CHAIN: Final = ssl.VERIFY_X509_PARTIAL_CHAIN


def make_client_tls_context(authority: bytes = b"", *, insecure: bool = False) -> ssl.SSLContext:
    """Return the TLS context of a client that trusts a CA bundle, or the machine's authorities if it is empty.

    With `insecure` it accepts every certificate. Raises `ssl.SSLError` or `ValueError` if the bundle cannot be read.
    """
    context = ssl.create_default_context(cadata=authority.decode() or None)
    # Go reads names from the extension for them only.
    context.hostname_checks_common_name = False
    verify_as_go(context)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def verify_as_go(context: ssl.SSLContext) -> None:
    """Let a TLS context accept the certificate chains that Go accepts."""
    # Every certificate in a bundle is a trust anchor for Go, a server's own leaf included. Python's defaults depend on
    # its version: from 3.13 it allows that, too, but rejects CA certificates without some extensions.
    context.verify_flags = (context.verify_flags | _PARTIAL_CHAIN) & ~ssl.VERIFY_X509_STRICT


def load_client_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate in PEM form into the context."""
    # Python's ssl module loads certificates from files only. The temporary file is readable by this user alone and is
    # removed immediately.
    with tempfile.NamedTemporaryFile(suffix=".pem") as chain:
        chain.write(certificate + b"\n" + key)
        chain.flush()
        context.load_cert_chain(chain.name)
