"""A kubeconfig says where a server is and who to be there, or what is wrong with it."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockkube.client.kubeconfig import KubeconfigError, RestConfig, find_current_context, load, load_merged

SERVER = {"server": "http://localhost:1/"}


def written(path: Path, cluster: dict[str, Any], user: dict[str, Any], **more: Any) -> Path:
    config = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }
    file = path / "config"
    file.write_text(yaml.safe_dump(config))
    return file


def test_a_token_and_a_server_are_enough(tmp_path: Path) -> None:
    assert load(written(tmp_path, SERVER, {"token": "t"})) == RestConfig("http://localhost:1", token="t")


def test_certificates_stand_in_the_file_or_beside_it(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("authority")
    (tmp_path / "token").write_text("t\n")
    cluster = {
        "server": "https://h",
        "certificate-authority": "ca.pem",
        "insecure-skip-tls-verify": True,
        "tls-server-name": "k",
    }
    user = {
        "client-certificate-data": b64encode(b"cert").decode(),
        "client-key-data": b64encode(b"key").decode(),
        "tokenFile": "token",
    }
    assert load(written(tmp_path, cluster, user)) == RestConfig(
        "https://h", b"authority", insecure=True, server_name="k", certificate=b"cert", key=b"key", token="t",
        token_file=tmp_path / "token",
    )  # fmt: skip


def test_a_context_may_be_named(tmp_path: Path) -> None:
    contexts = [{"name": "other", "context": {"cluster": "c"}}]
    file = written(tmp_path, SERVER, {"token": "t"}, contexts=contexts)
    assert load(file, "other") == RestConfig("http://localhost:1")


def test_a_token_file_takes_precedence_and_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    config = load(written(tmp_path, SERVER, {"token": "inline", "tokenFile": "token"}))
    assert config.headers == {"Authorization": "Bearer inline"}
    file.write_text("first\n")
    assert config.headers == {"Authorization": "Bearer first"}
    file.write_text("second")
    assert config.headers == {"Authorization": "Bearer second"}
    file.unlink()
    assert config.headers == {"Authorization": "Bearer inline"}


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(KubeconfigError, match="token is empty: write a token to it"):
        load(written(tmp_path, SERVER, {"tokenFile": "token"}))


def test_a_password_is_sent_with_basic_authentication(tmp_path: Path) -> None:
    config = load(written(tmp_path, SERVER, {"username": "u", "password": "p"}))
    assert config.headers == {"Authorization": f"Basic {b64encode(b'u:p').decode()}"}
    assert RestConfig("http://localhost:1", token="t", username="u").headers == {"Authorization": "Bearer t"}


def test_the_first_file_that_has_an_entry_wins(tmp_path: Path) -> None:
    for name, token in (("a", "first"), ("b", "second")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(token)
    contexts = [{"name": "y", "context": {"cluster": "c", "user": "u"}}]
    # Each path in a file is relative to that file.
    first = written(tmp_path / "a", SERVER, {"tokenFile": "token"}, **{"current-context": "", "contexts": contexts})
    second = written(tmp_path / "b", {"server": "http://other"}, {"tokenFile": "token"})
    paths = [tmp_path / "absent", first, second]
    assert find_current_context(paths) == "x"
    assert (
        load_merged(paths)
        == load_merged(paths, "y")
        == RestConfig("http://localhost:1", token="first", token_file=tmp_path / "a" / "token")
    )
    with pytest.raises(KubeconfigError, match="no context 'z': choose one of: y, x"):
        load_merged(paths, "z")


def test_files_of_which_none_exists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="one: No such file"):
        load_merged([tmp_path / "one", tmp_path / "two"])


@pytest.mark.parametrize(
    ("cluster", "user", "more", "why"),
    [
        pytest.param(SERVER, {}, {"current-context": ""}, "no current context", id="no context"),
        pytest.param(SERVER, {}, {"current-context": "y"}, "no context 'y': choose one of: x", id="unknown context"),
        pytest.param(SERVER, {}, {"clusters": None}, "no cluster 'c': choose one of: none", id="unknown cluster"),
        pytest.param({}, {}, {}, "cluster 'c' has no server", id="no server"),
        pytest.param(SERVER, {"exec": {"command": "x"}}, {}, "runs a program for its credentials", id="exec"),
        pytest.param(SERVER, {"auth-provider": {"name": "x"}}, {}, "asks a provider", id="auth provider"),
        pytest.param(SERVER, {"client-key-data": "§"}, {}, "client-key-data is not base64", id="not base64"),
        pytest.param(SERVER, {"tokenFile": "config/.."}, {}, "Not a directory", id="no file"),
        pytest.param(SERVER, {"tokenFile": "absent"}, {}, "absent: No such file", id="absent file"),
    ],
)
def test_what_cannot_be_used_is_named_with_a_remedy(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    file = written(tmp_path, cluster, user, **more)
    with pytest.raises(KubeconfigError, match=why) as caught:
        load(file)
    assert str(caught.value).startswith(f"kubeconfig {file}: ")


@pytest.mark.parametrize(("text", "why"), [("[", "not YAML"), ("- a", "not a kubeconfig")])
def test_what_is_no_kubeconfig_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(KubeconfigError, match=why):
        load(tmp_path / "config")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="No such file"):
        load(tmp_path / "config")


def test_plain_text_needs_no_tls() -> None:
    assert RestConfig("http://localhost:1").tls() is None


def test_an_insecure_server_is_not_verified() -> None:
    context = RestConfig("https://localhost:1", insecure=True).tls()
    assert context is not None
    assert not context.check_hostname


@pytest.mark.parametrize(
    ("access", "what"),
    [
        (RestConfig("https://h", authority=b"none"), "certificate authority"),
        (RestConfig("https://h", certificate=b"none", key=b"none"), "client certificate"),
    ],
)
def test_a_certificate_that_is_none_is_refused(access: RestConfig, what: str) -> None:
    with pytest.raises(KubeconfigError, match=f"the {what} for https://h cannot be read"):
        access.tls()
