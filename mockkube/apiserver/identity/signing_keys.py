"""Keys that sign and verify JSON Web Tokens: RSA and elliptic curves, from PEM files or generated."""

# upstream 1.36: client-go/util/keyutil/key.go, pkg/serviceaccount/jwt.go (signerFromRSAPrivateKey and its siblings)
import base64
import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from mockkube.api.json_objects import Object
from mockkube.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

# JOSE algorithm and name of each curve; upstream knows these three.
_CURVES: Final = {"secp256r1": ("ES256", "P-256"), "secp384r1": ("ES384", "P-384"), "secp521r1": ("ES512", "P-521")}
_RSA_ALGORITHM: Final = "RS256"
_BEGIN: Final = b"-----BEGIN "
_END: Final = b"-----END "


class UnusableKeyError(ValueError):
    """PEM text without a key that signs or verifies tokens."""


@dataclass(frozen=True)
class VerificationKey:
    """Public key of an issuer."""

    public_key: "RSAPublicKey | EllipticCurvePublicKey"

    @cached_property
    def key_id(self) -> str:
        """Identifier of the key in tokens and key sets."""
        # upstream 1.36: pkg/serviceaccount/jwt.go, keyIDFromPublicKey
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self.public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return encode_base64url(hashlib.sha256(public).digest())

    @property
    def algorithm(self) -> str:
        """JOSE name of the signature algorithm."""
        return _RSA_ALGORITHM if _is_rsa(self.public_key) else _CURVES[_elliptic(self.public_key).curve.name][0]

    def to_json_web_key(self) -> Object:
        """Return the key as a member of a JSON Web Key Set."""
        # upstream 1.36: pkg/serviceaccount/openidmetadata.go
        head: Object = {"use": "sig", "kid": self.key_id, "alg": self.algorithm}
        if _is_rsa(self.public_key):
            numbers: Any = self.public_key.public_numbers()
            return {**head, "kty": "RSA", "n": _encode_number(numbers.n), "e": _encode_number(numbers.e)}
        curve, size = _elliptic(self.public_key).curve, _coordinate_bytes(self.public_key)
        point: Any = self.public_key.public_numbers()
        x, y = (encode_base64url(number.to_bytes(size, "big")) for number in (point.x, point.y))
        return {**head, "kty": "EC", "crv": _CURVES[curve.name][1], "x": x, "y": y}

    def verify(self, signature: bytes, signed: bytes) -> bool:
        """Return whether the signature is one of this key."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

        key: Any = self.public_key
        try:
            if _is_rsa(key):
                key.verify(signature, signed, padding.PKCS1v15(), self.make_hash())
                return True
            # JWS has both numbers with a fixed length, where the library wants them encoded as DER.
            size = _coordinate_bytes(key)
            if len(signature) != 2 * size:
                return False
            r, s = int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
            key.verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(self.make_hash()))
        except (InvalidSignature, ValueError):
            return False
        return True

    def make_hash(self) -> "HashAlgorithm":
        """Return the hash function of the algorithm."""
        from cryptography.hazmat.primitives import hashes

        functions = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
        return functions[self.algorithm[2:]]


@dataclass(frozen=True)
class SigningKey:
    """Private key of an issuer."""

    private_key: "RSAPrivateKey | EllipticCurvePrivateKey"

    @classmethod
    def generate(cls) -> Self:
        """Return a new key on the curve P-256."""
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def from_pem(cls, pem: bytes) -> Self:
        """Return the private key in a PEM text; raise UnusableKeyError if there is none."""
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        for block in _split_blocks(pem):
            if b"PRIVATE KEY" in block.splitlines()[0]:
                try:
                    return cls(_check_private(load_pem_private_key(block, None)))
                except (ValueError, TypeError) as error:
                    raise UnusableKeyError(str(error)) from error
        raise UnusableKeyError("data does not contain a valid RSA or ECDSA private key")

    def to_pem(self) -> bytes:
        """Return the key as `from_pem` reads it."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        return self.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @cached_property
    def verification_key(self) -> VerificationKey:
        """Public part of the key."""
        return VerificationKey(self.private_key.public_key())

    def sign(self, signed: bytes) -> bytes:
        """Return the signature in the form of JSON Web Signatures."""
        from cryptography.hazmat.primitives.asymmetric import ec, padding, utils

        key: Any = self.private_key
        hash_algorithm = self.verification_key.make_hash()
        if _is_rsa(self.verification_key.public_key):
            signature: bytes = key.sign(signed, padding.PKCS1v15(), hash_algorithm)
            return signature
        size = _coordinate_bytes(self.verification_key.public_key)
        r, s = utils.decode_dss_signature(key.sign(signed, ec.ECDSA(hash_algorithm)))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def parse_verification_keys(pem: bytes) -> tuple[VerificationKey, ...]:
    """Return the public keys of a PEM text: public keys, certificates, private keys.

    Raise UnusableKeyError if it has none.
    """
    keys = tuple(key for block in _split_blocks(pem) if (key := _parse_public_block(block)) is not None)
    if not keys:
        raise UnusableKeyError("data does not contain any valid RSA or ECDSA public keys")
    return keys


def has_pem_block(pem: bytes) -> bool:
    """Return whether the text looks like PEM; far cheaper than parsing it, which loads a cryptography library."""
    return bool(_split_blocks(pem))


def encode_base64url(data: bytes) -> str:
    """Return base64url without padding, as in JSON Web Tokens."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _parse_public_block(block: bytes) -> VerificationKey | None:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    title = block.splitlines()[0]
    try:
        if b"CERTIFICATE" in title:
            public: Any = x509.load_pem_x509_certificate(block).public_key()
        elif b"PRIVATE KEY" in title:
            public = load_pem_private_key(block, None).public_key()
        else:
            public = load_pem_public_key(block)
    except (ValueError, TypeError):
        return None  # upstream skips blocks that hold something else
    supported = _is_rsa(public) or getattr(getattr(public, "curve", None), "name", "") in _CURVES
    return VerificationKey(public) if supported else None


def _split_blocks(pem: bytes) -> list[bytes]:
    blocks = []
    for part in pem.split(_BEGIN)[1:]:
        body, end, tail = part.partition(_END)
        if end:
            blocks.append(_BEGIN + body + end + tail.splitlines()[0] + b"\n")
    return blocks


def _check_private(key: Any) -> Any:
    if _is_rsa(key) or getattr(getattr(key, "curve", None), "name", "") in _CURVES:
        return key
    raise UnusableKeyError("unknown private key type, must be an RSA or ECDSA key")


def _is_rsa(key: object) -> bool:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

    return isinstance(key, RSAPublicKey | RSAPrivateKey)


def _elliptic(key: object) -> "EllipticCurvePublicKey":
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    assert isinstance(key, EllipticCurvePublicKey)
    return key


def _coordinate_bytes(key: object) -> int:
    return (_elliptic(key).curve.key_size + 7) // 8


def _encode_number(number: int) -> str:
    return encode_base64url(number.to_bytes((number.bit_length() + 7) // 8, "big"))
