"""Certificates come from a process of their own, or the reason why not; it never outlives its context."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from mockkube.cluster.state.certificate_process import CertificateProcess, CertificateProcessError
from mockkube.cluster.state.certificates import ensure_certificates

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MakePython = Callable[[str], str]


@pytest.fixture
def make_python(tmp_path: Path) -> MakePython:
    """Return a function that makes a program to run in place of the interpreter."""

    def make(body: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make


async def test_a_process_creates_what_this_one_would(tmp_path: Path) -> None:
    with CertificateProcess(["box.example"], now=NOW) as process:
        created = await process.read()
    assert created is not None
    certificates = ensure_certificates(tmp_path / "keys", created.names, now=NOW, created=created.files)
    assert {path.name for path in certificates.directory.iterdir()} == set(created.files)
    assert certificates.serving.read_bytes() == created.files["apiserver.crt"]
    serving = x509.load_pem_x509_certificate(created.files["apiserver.crt"])
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "box.example" in names.get_values_for_type(x509.DNSName)
    assert serving.not_valid_before_utc < NOW < serving.not_valid_after_utc
    serving.verify_directly_issued_by(x509.load_pem_x509_certificate(created.files["ca.crt"]))
    for certificate, key in (
        (certificates.serving, certificates.serving_key),
        (certificates.admin, certificates.admin_key),
        (certificates.front_proxy, certificates.front_proxy_key),
    ):
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key)
    before = certificates.serving.read_bytes()
    assert ensure_certificates(tmp_path / "keys", ["box.example"], now=NOW).serving.read_bytes() == before


async def test_an_existing_authority_is_kept(tmp_path: Path) -> None:
    before = ensure_certificates(tmp_path, [], now=NOW).authority.read_bytes()
    with CertificateProcess(["box.example"], now=NOW) as process:
        created = await process.read()
    assert created is not None
    certificates = ensure_certificates(tmp_path, created.names, now=NOW, created=created.files)
    assert certificates.authority.read_bytes() == before
    assert certificates.serving.read_bytes() != created.files["apiserver.crt"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("exit 3", "exit code 3: it said nothing", id="silent"),
        pytest.param("echo one >&2; echo 'No module' >&2; exit 1", "exit code 1: No module", id="with a reason"),
        pytest.param("kill -9 $$", "exit code -9", id="killed"),
        pytest.param("echo nonsense", "its answer cannot be read", id="nonsense"),
        pytest.param("echo []", "its answer cannot be read", id="something else"),
    ],
)
async def test_the_log_says_why_a_process_failed(
    make_python: MakePython, caplog: pytest.LogCaptureFixture, body: str, reason: str
) -> None:
    with CertificateProcess([], now=NOW, python=make_python(body)) as process:
        assert await process.read() is None
    assert f"this one creates them: {reason}" in caplog.text


@pytest.mark.parametrize("python", ["", "/nowhere/python"])
def test_without_an_interpreter_there_is_no_process(python: str) -> None:
    with pytest.raises(CertificateProcessError, match=r"not known|cannot be started"):
        CertificateProcess([], now=NOW, python=python)


async def test_a_reader_that_is_cancelled_ends_the_process(make_python: MakePython, tmp_path: Path) -> None:
    python = make_python(f"echo $$ > {tmp_path}/pid; exec sleep 60")
    with CertificateProcess([], now=NOW, python=python) as process:
        reading = asyncio.ensure_future(process.read())
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert process.has_ended


def test_leaving_the_context_ends_the_process(make_python: MakePython) -> None:
    with CertificateProcess([], now=NOW, python=make_python("exec sleep 60")) as process:
        assert not process.has_ended
    assert process.has_ended
