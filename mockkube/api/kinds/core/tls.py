"""Check TLS certificates and keys, with the error messages of Go's TLS package."""

_NO_PEM_PREFIX = "tls: failed to find any PEM data in"


def find_key_pair_error(certificate: bytes, key: bytes) -> str | None:
    """Return why certificate and key are no pair, or None."""
    if b"-----BEGIN" not in certificate:
        return f"{_NO_PEM_PREFIX} certificate input"
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        return (
            'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
            f"following types: [{_block_types(certificate)}]"
        )
    if b"-----BEGIN" not in key:
        return f"{_NO_PEM_PREFIX} key input"
    return _find_mismatch(certificate, key)


def _find_mismatch(certificate: bytes, key: bytes) -> str | None:
    from cryptography import x509  # 30 ms and 8 MB, for servers with Secrets of TLS
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        key_public = load_pem_private_key(key, password=None).public_key()
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    encoding = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if type(key_public) is not type(public):
        return "tls: private key type does not match public key type"
    if key_public.public_bytes(*encoding) != public.public_bytes(*encoding):
        return "tls: private key does not match public key"
    return None


def _block_types(text: bytes) -> str:
    blocks = text.decode(errors="replace").split("-----BEGIN ")[1:]
    return " ".join(block.partition("-----")[0] for block in blocks)
