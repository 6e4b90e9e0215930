"""Text that is encrypted with a secret: AES-256-GCM under a key that scrypt derives from the secret.

scrypt, because a secret may be a word that somebody has chosen: each guess takes some 50 ms and 16 MiB.
"""

import base64
import json
import os
from typing import Any, Final

_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_COST: Final = 2**14
_BLOCK_SIZE: Final = 8
_ALGORITHM: Final = "scrypt-aes-256-gcm"


class WrongSecretError(ValueError):
    """The text was encrypted with another secret, or has been changed."""


def seal(text: str, secret: str, context: str) -> dict[str, str]:
    """Encrypt a text; it can be opened with the same secret and context only."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    ciphertext = AESGCM(_derive_key(secret, salt)).encrypt(nonce, text.encode(), _authenticated(context))
    parts = {"salt": salt, "nonce": nonce, "ciphertext": ciphertext}
    return {"algorithm": _ALGORITHM} | {name: base64.b64encode(value).decode() for name, value in parts.items()}


def unseal(sealed: Any, secret: str, context: str) -> str:
    """Return the text; WrongSecretError if secret or context differ, other ValueErrors if it is not a sealed text."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if not isinstance(sealed, dict) or sealed.get("algorithm") != _ALGORITHM:
        raise ValueError("it is not sealed in a known way")
    salt, nonce, ciphertext = (
        base64.b64decode(str(sealed.get(name, "")), validate=True) for name in ("salt", "nonce", "ciphertext")
    )
    if not (salt and nonce and ciphertext):
        raise ValueError("it is not sealed in a known way")
    try:
        return AESGCM(_derive_key(secret, salt)).decrypt(nonce, ciphertext, _authenticated(context)).decode()
    except InvalidTag:
        raise WrongSecretError from None


def _derive_key(secret: str, salt: bytes) -> bytes:
    import hashlib

    return hashlib.scrypt(secret.encode(), salt=salt, n=_COST, r=_BLOCK_SIZE, p=1, maxmem=2**26, dklen=_KEY_BYTES)


def _authenticated(context: str) -> bytes:
    return json.dumps([_ALGORITHM, context]).encode()
