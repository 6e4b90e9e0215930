"""A sealed text opens with its secret and context, and with nothing else."""

import base64

import pytest

from mockkube.cluster.replication.sealed_text import WrongSecretError, seal, unseal


def test_the_secret_opens_the_text() -> None:
    sealed = seal("the key of the CA", "correct horse", "blue")
    assert unseal(sealed, "correct horse", "blue") == "the key of the CA"
    assert "the key" not in str(sealed)


def test_the_same_text_is_never_sealed_alike() -> None:
    assert seal("text", "secret", "blue")["ciphertext"] != seal("text", "secret", "blue")["ciphertext"]


@pytest.mark.parametrize(("secret", "context"), [("other", "blue"), ("secret", "green")])
def test_another_secret_or_context_opens_nothing(secret: str, context: str) -> None:
    with pytest.raises(WrongSecretError):
        unseal(seal("text", "secret", "blue"), secret, context)


@pytest.mark.parametrize("part", ["salt", "nonce", "ciphertext"])
def test_a_changed_text_is_noticed(part: str) -> None:
    sealed = seal("text", "secret", "blue")
    changed = bytearray(base64.b64decode(sealed[part]))
    changed[0] ^= 1
    with pytest.raises(WrongSecretError):
        unseal({**sealed, part: base64.b64encode(changed).decode()}, "secret", "blue")


@pytest.mark.parametrize("sealed", [None, [], {}, {"algorithm": "rot13"}, {"algorithm": "scrypt-aes-256-gcm"}])
def test_what_is_not_sealed_is_refused(sealed: object) -> None:
    with pytest.raises(ValueError, match="not sealed in a known way"):
        unseal(sealed, "secret", "blue")
