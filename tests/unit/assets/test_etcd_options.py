"""Options of the etcd executable: flags, variables, the configuration file."""

import re
from pathlib import Path

import pytest

from mockkube.assets.etcd_options import EtcdOptions, ListenAddress, OptionsError, UsageError, render_help


def parse(*arguments: str, **environment: str) -> EtcdOptions:
    return EtcdOptions.parse(arguments, environment)


def test_the_defaults_are_those_of_etcd() -> None:
    options = parse()
    assert options.addresses == (ListenAddress("localhost", 2379),)
    assert (options.data_directory, options.fsync, options.warnings) == ("default.etcd", True, [])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--data-dir=/x", "--unsafe-no-fsync"), id="equals"),
        pytest.param(("--data-dir", "/x", "--unsafe-no-fsync=true"), id="two arguments"),
        pytest.param(("-data-dir", "/x", "-unsafe-no-fsync"), id="one dash"),
        pytest.param(("--data-dir=/y", "--unsafe-no-fsync=0", "--data-dir=/x", "--unsafe-no-fsync=T"), id="last wins"),
    ],
)
def test_a_flag_is_written_as_go_allows(arguments: tuple[str, ...]) -> None:
    options = parse(*arguments)
    assert (options.data_directory, options.fsync) == ("/x", False)


def test_what_envtest_passes_is_accepted() -> None:
    options = parse(
        "--advertise-client-urls=http://127.0.0.1:4567",
        "--data-dir=/tmp/k8s_test_framework_1",
        "--listen-client-urls=http://127.0.0.1:4567",
        "--listen-peer-urls=http://127.0.0.1:4568",
        "--unsafe-no-fsync=true",
    )
    assert options.addresses == (ListenAddress("127.0.0.1", 4567),)
    assert options.warnings == []


def test_what_kwokctl_passes_is_accepted() -> None:
    options = parse(
        "--name=node0",
        "--auto-compaction-retention=1",
        "--quota-backend-bytes=8589934592",
        "--data-dir=/x",
        "--initial-advertise-peer-urls=http://0.0.0.0:32764",
        "--listen-peer-urls=http://0.0.0.0:32764",
        "--advertise-client-urls=http://0.0.0.0:32765",
        "--listen-client-urls=http://0.0.0.0:32765",
        "--initial-cluster=node0=http://0.0.0.0:32764",
    )
    assert options.addresses == (ListenAddress("0.0.0.0", 32765),)
    assert options.warnings == []


def test_the_default_directory_has_the_name_of_the_member() -> None:
    assert parse("--name=node0").data_directory == "node0.etcd"


def test_all_urls_are_listened_on_once() -> None:
    options = parse(
        "--listen-client-urls=http://127.0.0.1:1,http://[::1]:1",
        "--listen-metrics-urls=http://127.0.0.1:2,http://127.0.0.1:1",
        "--listen-client-http-urls=http://127.0.0.1:3",
    )
    assert [(address.host, address.port) for address in options.addresses] == [
        ("127.0.0.1", 1),
        ("::1", 1),
        ("127.0.0.1", 3),
        ("127.0.0.1", 2),
    ]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://127.0.0.1:1", "this etcd serves plain HTTP on TCP only; use http://host:port instead of https://"),
        ("unix://etcd.sock:1", "this etcd serves plain HTTP on TCP only"),
        ("http://127.0.0.1", 'URL address does not have the form "host:port"'),
        ("http://127.0.0.1:1/path", "URL must not contain a path"),
        ("http://127.0.0.1:x", 'URL address does not have the form "host:port"'),
        ("http://127.0.0.1:65536", 'URL address does not have the form "host:port"'),
        ("127.0.0.1:1", "URL scheme must be http, https, unix, or unixs"),
    ],
)
def test_a_url_that_cannot_be_served_is_refused(url: str, said: str) -> None:
    with pytest.raises(OptionsError, match=re.escape(f"--listen-client-urls: {said}")):
        parse(f"--listen-client-urls={url}")


def test_no_url_is_refused() -> None:
    with pytest.raises(OptionsError, match="--listen-client-urls is empty"):
        parse("--listen-client-urls=")


@pytest.mark.parametrize("arguments", [("--new-flag=1", "--name=x"), ("--new-flag", "1", "--name=x")])
def test_an_unknown_flag_is_a_warning(arguments: tuple[str, ...]) -> None:
    options = parse(*arguments)
    assert options.warnings == ["unknown flag, ignored: --new-flag"]
    assert options.data_directory == "x.etcd"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--unsafe-no-fsync=maybe",), 'invalid boolean value "maybe" for -unsafe-no-fsync: parse error'),
        (("--data-dir",), "flag needs an argument: -data-dir"),
        (("---name",), "bad flag syntax: ---name"),
        (("--=x",), "bad flag syntax: --=x"),
    ],
)
def test_a_flag_that_cannot_be_parsed_is_refused_as_go_does(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        parse(*arguments)


@pytest.mark.parametrize("arguments", [("serve",), ("--name=x", "--", "serve")])
def test_an_argument_that_is_no_flag_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(OptionsError, match='"serve" is not a valid flag'):
        parse(*arguments)


def test_variables_set_flags() -> None:
    options = parse(ETCD_DATA_DIR="/x", ETCD_UNSAFE_NO_FSYNC="true", ETCD_NAME="", PATH="/bin")
    assert (options.data_directory, options.fsync, options.warnings) == ("/x", False, [])


def test_an_unknown_variable_is_a_warning() -> None:
    assert parse(ETCD_VER="3.6").warnings == ["unrecognized environment variable: ETCD_VER"]


def test_a_variable_that_a_flag_shadows_is_refused() -> None:
    with pytest.raises(OptionsError, match="conflicting environment variable ETCD_NAME is shadowed by the flag --name"):
        parse("--name=x", ETCD_NAME="y")


def test_a_configuration_file_replaces_flags_and_variables(tmp_path: Path) -> None:
    path = tmp_path / "etcd.yaml"
    path.write_text("data-dir: /x\nunsafe-no-fsync: true\nlisten-client-urls: http://127.0.0.1:1\nunknown: 1\n")
    options = parse(f"--config-file={path}", "--data-dir=/y", ETCD_NAME="z")
    assert (options.data_directory, options.fsync) == ("/x", False)
    assert options.addresses == (ListenAddress("127.0.0.1", 1),)
    assert parse(ETCD_CONFIG_FILE=str(path)).data_directory == "/x"


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), ("{", "cannot be read"), ("- x", "is not a YAML mapping")]
)
def test_a_configuration_file_that_cannot_be_read_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "etcd.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(OptionsError, match=f"--config-file {path} {said}"):
        parse(f"--config-file={path}")


def test_a_log_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionsError, match="--log-level must be one of debug, info"):
        parse("--log-level=loud")


def test_help_shows_each_flag_on_a_line_of_its_own() -> None:
    help_text = render_help()
    for flag in ("unsafe-no-fsync", "data-dir", "quota-backend-bytes", "initial-cluster"):
        assert re.search(rf"(?m)^\s*--{flag}\b", help_text)  # as envtest looks for flags
