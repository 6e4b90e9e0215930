"""Files that flags name are checked before the server waits for etcd."""

from pathlib import Path

import pytest

from mockkube.assets.file_checks import check_files
from mockkube.assets.kube_apiserver_options import KubeApiserverOptions, OptionsError
from mockkube.features.versions import Version


@pytest.fixture
def no_pem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the wrong content in the working directory."""
    (tmp_path / "text").write_text("text")
    (tmp_path / "key").write_text("-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("no_pem")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("--tls-cert-file=none", "missing filename for serving cert"),
        ("--tls-cert-file=none --tls-private-key-file=key", "open none: no such file or directory"),
        ("--tls-cipher-suites=TLS_AES_128_GCM_SHA256,foo", "Cipher suite foo not supported or doesn't exist"),
        ("--tls-min-version=foo", 'unknown tls version "foo"'),
        (
            "--runtime-config=apps/v1=maybe --client-ca-file=none",
            'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        ("--client-ca-file=none", "open none: no such file or directory"),
        (
            "--client-ca-file=key",
            'error loading CA bundle for "client-ca-bundle::key": data does not contain any valid RSA or ECDSA '
            "certificates",
        ),
        (
            "--requestheader-client-ca-file=key",
            'error loading CA bundle for "request-header::key": data does not contain any valid RSA or ECDSA '
            "certificates",
        ),
        ("--service-account-key-file=none", "open none: no such file or directory"),
        (
            "--service-account-key-file=text",
            "error reading public key file text: data does not contain any valid RSA or ECDSA public keys",
        ),
        ("--token-auth-file=none", "open none: no such file or directory"),
        ("--authentication-token-webhook-config-file=none", "stat none: no such file or directory"),
        (
            "--audit-policy-file=none",
            'loading audit policy file: failed to read file path "none": open none: no such file or directory',
        ),
        (
            "--tracing-config-file=none",
            'failed to read tracing config: unable to read tracing configuration from "none": '
            "open none: no such file or directory",
        ),
        (
            "--egress-selector-config-file=none",
            "failed to read egress selector config: unable to read egress selector configuration from "
            '"none" [open none: no such file or directory]',
        ),
        (
            "--encryption-provider-config=none",
            "error while parsing file: error while loading file: error reading encryption provider configuration file "
            '"none": open none: no such file or directory',
        ),
    ],
)
def test_errors(arguments: str, error: str) -> None:
    with pytest.raises(OptionsError) as caught:
        check_files(KubeApiserverOptions.parse(arguments.split(), Version(1, 36)))
    assert str(caught.value) == error


@pytest.mark.usefixtures("no_pem")
def test_files_that_can_be_read_are_accepted() -> None:
    arguments = (
        "--service-account-key-file=key --tls-min-version=VersionTLS13 --tls-cipher-suites=TLS_AES_128_GCM_SHA256"
    )
    check_files(KubeApiserverOptions.parse(arguments.split(), Version(1, 36)))
