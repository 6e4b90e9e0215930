"""What a cluster is told: who wins, and that each mistake is one line that names input, place and remedy."""

from pathlib import Path

import pytest

from mockkube.cluster.configuration.cluster_configuration import SETTINGS, ClusterConfiguration, resolve_configuration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.values import ComponentConfiguration
from mockkube.features.versions import Version

HEAD = "apiVersion: mockkube.dev/v1alpha1\nkind: ClusterConfiguration\n"


def written(directory: Path, text: str, *, head: str = HEAD) -> Path:
    path = directory / "cluster.yaml"
    path.write_text(head + text)
    return path


def test_nothing_said_is_the_defaults() -> None:
    assert resolve_configuration({}, {}) == ClusterConfiguration()


def test_every_field_has_a_setting_and_the_other_way_round() -> None:
    fields = set(ClusterConfiguration.__slots__) - {"given_settings"}
    fields |= {"ephemeral", "token_file", "cluster_key_file", "proposals"}  # other words for other fields
    assert {setting.name for setting in SETTINGS} == fields


@pytest.mark.parametrize(
    ("flags", "environment", "file", "port"),
    [
        pytest.param({"port": "1"}, {"MOCKKUBE_PORT": "2"}, "port: 3", 1, id="a flag before all"),
        pytest.param({}, {"MOCKKUBE_PORT": "2"}, "port: 3", 2, id="a variable before the file"),
        pytest.param({}, {"MOCKKUBE_PORT": ""}, "port: 3", 3, id="an empty variable says nothing"),
        pytest.param({}, {}, "port: 3", 3, id="the file before the default"),
        pytest.param({}, {}, "nodes: 3", 6443, id="the default when nobody says"),
    ],
)
def test_layers_by_precedence(
    tmp_path: Path, flags: dict[str, str], environment: dict[str, str], file: str, port: int
) -> None:
    assert resolve_configuration(flags, environment, written(tmp_path, file)).port == port


def test_the_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    assert resolve_configuration({}, {"MOCKKUBE_CONFIG": str(written(tmp_path, "nodes: 5"))}).nodes == 5


def test_a_whole_file(tmp_path: Path) -> None:
    text = """
name: lab
bind: ::1
port: 0
version: "1.35"
featureGates: {A: true, kube-scheduler:B: false}
components:
  kube-scheduler: {version: "1.34", featureGates: {C: true}}
without: [kubelets, scheduler]
nodes: 3
ephemeral: true
kubeconfig: /tmp/k
setContext: true
readyFile: /tmp/r
tls: false
token: abc
enableAdmissionPlugins: [One]
disableAdmissionPlugins: [Two, Three]
runtimeConfig: {api/alpha: true, resource.k8s.io/v1beta1: "false"}
schedulerConfig: {kind: KubeSchedulerConfiguration}
controllers: ["*", "-job"]
controllerManager: {node-monitor-period: 2s, terminated-pod-gc-threshold: 5}
logLevel: debug
"""
    assert resolve_configuration({}, {}, written(tmp_path, text)) == ClusterConfiguration(
        name="lab",
        bind="::1",
        port=0,
        version=Version(1, 35),
        feature_gates={"A": True},
        components={"kube-scheduler": ComponentConfiguration(Version(1, 34), {"B": False, "C": True})},
        without=("scheduler", "kubelets"),
        nodes=3,
        db="memory:",
        kubeconfig=Path("/tmp/k"),
        set_context=True,
        ready_file=Path("/tmp/r"),
        tls=False,
        token="abc",
        enable_admission_plugins=("One",),
        disable_admission_plugins=("Two", "Three"),
        runtime_config={"api/alpha": "true", "resource.k8s.io/v1beta1": "false"},
        scheduler_config={"kind": "KubeSchedulerConfiguration"},
        controllers=("*", "-job"),
        controller_manager={"node-monitor-period": "2s", "terminated-pod-gc-threshold": 5},
        log_level="debug",
    )


def test_the_configuration_of_the_scheduler_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text("profiles: []")
    assert resolve_configuration({"scheduler_config": str(path)}, {}).scheduler_config == {"profiles": []}


def test_flags_of_the_controller_manager_meet_flag_by_flag(tmp_path: Path) -> None:
    path = written(tmp_path, "controllerManager: {node-monitor-period: 2s, kube-api-burst: 5}")
    flags = {"controller_manager": ("kube-api-burst=7,enable-garbage-collector=false",)}
    assert resolve_configuration(flags, {}, path).controller_manager == {
        "node-monitor-period": "2s",
        "kube-api-burst": 7,
        "enable-garbage-collector": False,
    }


@pytest.mark.parametrize(
    ("flags", "file", "db"),
    [
        pytest.param({"ephemeral": True}, "db: sqlite:///x", "memory:", id="ephemeral over a database"),
        pytest.param({"db": "sqlite:///x"}, "ephemeral: true", "sqlite:///x", id="a database over ephemeral"),
        pytest.param({"ephemeral": False}, "ephemeral: true", None, id="not ephemeral over ephemeral"),
        pytest.param({}, "ephemeral: true", "memory:", id="ephemeral alone"),
    ],
)
def test_ephemeral_and_db_undo_each_other_across_layers(
    tmp_path: Path, flags: dict[str, object], file: str, db: str | None
) -> None:
    assert resolve_configuration(flags, {}, written(tmp_path, file)).db == db


def test_gates_of_several_layers_meet_gate_by_gate(tmp_path: Path) -> None:
    path = written(tmp_path, "featureGates: {A: false, B: true, C: true}")
    configuration = resolve_configuration(
        {"feature_gates": ("A=true",)}, {"MOCKKUBE_FEATURE_GATES": "A=false,B=false"}, path
    )
    assert configuration.feature_gates == {"A": True, "B": False, "C": True}


def test_a_gate_given_for_a_component_is_that_components_alone() -> None:
    flags = {"feature_gates": ("A=true,kubelet:A=false", "kube:B=true,kubelet.n1:C=1")}
    configuration = resolve_configuration(flags, {})
    assert configuration.feature_gates == {"A": True, "B": True}
    assert configuration.components == {
        "kubelet": ComponentConfiguration(None, {"A": False}),
        "kubelet.n1": ComponentConfiguration(None, {"C": True}),
    }


def test_components_of_several_layers_meet_field_by_field(tmp_path: Path) -> None:
    path = written(tmp_path, 'components: {kube-scheduler: {version: "1.34", featureGates: {A: true}}}')
    configuration = resolve_configuration({"components": ("kube-scheduler=A=false", "kubelet=1.35,B=true")}, {}, path)
    assert configuration.components == {
        "kube-scheduler": ComponentConfiguration(Version(1, 34), {"A": False}),
        "kubelet": ComponentConfiguration(Version(1, 35), {"B": True}),
    }


def test_paths_are_absolute_and_know_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/jo")
    monkeypatch.chdir(tmp_path)
    configuration = resolve_configuration({"kubeconfig": "~/k", "ready_file": "r"}, {})
    assert (configuration.kubeconfig, configuration.ready_file) == (Path("/home/jo/k"), tmp_path / "r")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param({"port": "http"}, "--port: 'http' is not a port: give a number", id="port that is no number"),
        pytest.param({"port": "65536"}, "--port: '65536' is not a port", id="port too high"),
        pytest.param({"port": "-1"}, "--port: '-1' is not a port", id="port below zero"),
        pytest.param({"nodes": "many"}, "--nodes: 'many' is not a number of nodes", id="nodes"),
        pytest.param({"bind": "example.com"}, "--bind: 'example.com' is not an IP address", id="host name"),
        pytest.param({"name": "../etc"}, "--name: '../etc' cannot name a cluster", id="name that climbs"),
        pytest.param({"name": "A" * 100}, "--name: 'AAAA", id="name too long"),
        pytest.param({"version": "newest"}, "--version: 'newest' is not a version: give one from 1.33", id="version"),
        pytest.param({"version": "1.20"}, "--version: version 1.20 is not supported: give one from", id="old version"),
        pytest.param({"feature_gates": ("A",)}, "--feature-gates: 'A' is not a pair", id="gate without value"),
        pytest.param({"feature_gates": ("A=maybe",)}, "--feature-gates: feature gate A is set to 'maybe'", id="gate"),
        pytest.param({"feature_gates": ("etcd:A=true",)}, "--feature-gates: 'etcd' is not a component", id="prefix"),
        pytest.param({"components": ("etcd=1.36",)}, "--component: 'etcd' is not a component: give kube-", id="etcd"),
        pytest.param({"components": ("kubelet",)}, "--component: 'kubelet' says nothing", id="component alone"),
        pytest.param({"components": ("kubelet=x",)}, "--component: 'x' is not a version", id="component version"),
        pytest.param({"components": ("kubelet=A=x",)}, "--component: feature gate A is set to", id="component gate"),
        pytest.param({"without": ("etcd",)}, "--without: 'etcd' cannot be left out: give one or more of", id="part"),
        pytest.param({"db": ""}, "--db: '' is not a text", id="empty database"),
        pytest.param({"token": "a b"}, "--token: not a token (not shown here)", id="token"),
        pytest.param({"log_level": "loud"}, "--log-level: 'loud' is not a log level: give one of error", id="level"),
        pytest.param({"enable_admission_plugins": ("a b",)}, "--enable-admission-plugins: 'a b'", id="plugin"),
        pytest.param({"controller_manager": ("a",)}, "--controller-manager: 'a' is not a pair: give FLAG=", id="flag"),
        pytest.param({"scheduler_config": "/x/y"}, "--scheduler-config: /x/y: No such file or dir", id="no such file"),
        pytest.param({"set_context": True}, "--set-context: no file to set it in: give one with", id="context"),
        pytest.param({"ephemeral": True, "db": "x"}, "--db and --ephemeral: only one", id="two databases"),
        pytest.param({"bind": "0.0.0.0", "tls": False}, "--bind: 0.0.0.0 can be reached from other", id="no TLS"),
        pytest.param({"bind": "::", "tls": False}, "--bind: :: can be reached from other machines", id="no TLS, IPv6"),
    ],
)
def test_a_wrong_flag_is_named_with_its_remedy(flags: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_configuration(flags, {})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("prot: 1", "unknown field 'prot': did you mean 'port'?", id="misspelt field"),
        pytest.param("zzzzz: 1", "unknown field 'zzzzz': known are name, bind", id="unknown field"),
        pytest.param("port: [1]", "port: [1] is not a port", id="wrong type"),
        pytest.param("nodes: true", "nodes: True is not a number of nodes", id="a bool is no number"),
        pytest.param("tls: 'maybe'", "tls: 'maybe' is neither true nor false", id="bool"),
        pytest.param("name: 12", "name: 12 cannot name a cluster", id="a number is no name"),
        pytest.param("without: {a: b}", "without: {'a': 'b'} is not a list of texts", id="mapping for a list"),
        pytest.param("components: {kubelet: 1.35}", "components: 1.35 does not describe a component", id="component"),
        pytest.param("components: {kubelet: {gates: 1}}", "components: {'gates': 1} does not", id="component's field"),
        pytest.param("featureGates: {A: 2}", "featureGates: feature gate A is set to 2", id="gate"),
        pytest.param("{", "not valid YAML: ", id="no YAML"),
        pytest.param("db: x\nephemeral: true", "db and ephemeral: only one", id="two databases"),
    ],
)
def test_a_wrong_file_is_named_with_field_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        resolve_configuration({}, {}, path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        pytest.param("- 1", "not a mapping", id="list"),
        pytest.param("", "not a mapping", id="empty"),
        pytest.param("kind: Pod", "apiVersion is None: it must be 'mockkube.dev/v1alpha1'", id="no version"),
        pytest.param("apiVersion: mockkube.dev/v1alpha1\nkind: Pod", "kind is 'Pod': it must be", id="another kind"),
        pytest.param("a: \x00", "not valid YAML", id="NUL"),
        pytest.param("!!python/object/apply:os.getcwd []", "not valid YAML", id="code"),
        pytest.param("x" * (1 << 20) + "yy", "larger than 1048576 bytes", id="huge"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, head: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        resolve_configuration({}, {}, written(tmp_path, "", head=head))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yaml: No such file or directory: give a readable"):
        resolve_configuration({}, {}, tmp_path / "absent.yaml")


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(ConfigurationError, match="MOCKKUBE_LOG_LEVEL: 'loud' is not a log level"):
        resolve_configuration({}, {"MOCKKUBE_LOG_LEVEL": "loud"})


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_may_do_without_tls(bind: str) -> None:
    assert not resolve_configuration({"bind": bind, "tls": False}, {}).tls


def test_other_machines_are_served_over_tls() -> None:
    assert resolve_configuration({"bind": "0.0.0.0"}, {}).tls


@pytest.mark.parametrize("text", ["secret", "secret\n", "  secret \nwhatever else\n"])
def test_a_token_may_be_the_first_line_of_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    assert resolve_configuration({"token_file": str(tmp_path / "token")}, {}).token == "secret"
    assert resolve_configuration({}, {"MOCKKUBE_TOKEN_FILE": str(tmp_path / "token")}).token == "secret"


def test_a_token_and_a_file_undo_each_other_across_layers(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("kept")
    assert resolve_configuration({"token": "given"}, {"MOCKKUBE_TOKEN_FILE": str(tmp_path / "token")}).token == "given"
    assert resolve_configuration({"token_file": str(tmp_path / "token")}, {"MOCKKUBE_TOKEN": "given"}).token == "kept"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "--token-file: .*token cannot be read: No such file", id="no file"),
        pytest.param(b"", "the first line of .* is not a token", id="nothing in it"),
        pytest.param(b"two words", "the first line of .* is not a token", id="no token in it"),
        pytest.param(b"\xff\xfe", "is no text", id="bytes"),
    ],
)
def test_a_file_without_a_token_is_refused_and_not_shown(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(ConfigurationError, match=message) as error:
        resolve_configuration({"token_file": str(tmp_path / "token")}, {})
    assert "words" not in str(error.value)


def test_a_token_and_a_file_at_once_are_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("kept")
    with pytest.raises(ConfigurationError, match="--token and --token-file: only one"):
        resolve_configuration({"token": "given", "token_file": str(tmp_path / "token")}, {})


@pytest.mark.parametrize("host", ["dev.example", "Dev.Example", "::2", "192.0.2.1"])
def test_hosts_are_names_or_addresses(host: str) -> None:
    assert resolve_configuration({"allowed_hosts": host}, {}).allowed_hosts == (host.lower(),)


@pytest.mark.parametrize("host", ["*", "http://dev.example", "dev.example:80", ".example", "a/b"])
def test_what_is_no_name_of_a_host_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--allowed-hosts: .* is not the name of a host"):
        resolve_configuration({"allowed_hosts": host}, {})


def test_a_process_joins_with_the_flag_or_with_the_name_of_a_control_plane() -> None:
    assert not resolve_configuration({"db": "etcd://host"}, {}).join
    assert resolve_configuration({"db": "etcd://host", "join": True}, {}).join
    assert resolve_configuration({"db": "postgresql://host/db", "cluster_id": "blue"}, {}).join


@pytest.mark.parametrize(
    ("db", "shown"),
    [
        pytest.param(None, "no --db, so SQLite,", id="the default"),
        pytest.param("sqlite:///cluster.db", "sqlite", id="SQLite"),
        pytest.param("memory:", "memory", id="memory"),
        pytest.param("log:///cluster", "log", id="log"),
        pytest.param("mysql://user:secret@host/db", "mysql", id="a password is not shown"),
    ],
)
def test_only_a_shared_database_can_be_joined(db: str | None, shown: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        resolve_configuration({"join": True} | ({} if db is None else {"db": db}), {})
    assert str(error.value).startswith(f"--join: {shown} cannot be shared by several processes: give a --db like post")
    assert "secret" not in str(error.value)


def test_virtual_time_cannot_be_joined() -> None:
    with pytest.raises(ConfigurationError, match="--join: each process would have a virtual time of its own"):
        resolve_configuration({"join": True, "db": "etcd://host", "clock": "virtual"}, {})


def test_the_cluster_key_is_a_variable_or_the_first_line_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("0123456789abcdef\nmore\n")
    assert resolve_configuration({}, {"MOCKKUBE_CLUSTER_KEY": "fedcba9876543210"}).cluster_key == "fedcba9876543210"
    assert resolve_configuration({"cluster_key_file": str(tmp_path / "key")}, {}).cluster_key == "0123456789abcdef"
    with pytest.raises(ConfigurationError, match="MOCKKUBE_CLUSTER_KEY and MOCKKUBE_CLUSTER_KEY_FILE: only one"):
        resolve_configuration(
            {}, {"MOCKKUBE_CLUSTER_KEY": "fedcba9876543210", "MOCKKUBE_CLUSTER_KEY_FILE": str(tmp_path / "key")}
        )


def test_a_short_cluster_key_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="not a key") as error:
        resolve_configuration({}, {"MOCKKUBE_CLUSTER_KEY": "hunter2"})
    assert "hunter2" not in str(error.value)


def test_names_of_the_serving_certificate() -> None:
    names = resolve_configuration({"cert_extra_sans": ("API.example,10.0.0.1", "*.example")}, {}).cert_extra_sans
    assert names == ("api.example", "10.0.0.1", "*.example")
    with pytest.raises(ConfigurationError, match="--cert-extra-sans: 'https://a' is not a name or an address"):
        resolve_configuration({"cert_extra_sans": "https://a"}, {})


def test_a_wildcard_cannot_be_advertised() -> None:
    assert resolve_configuration({"advertise_address": "10.0.0.1"}, {}).advertise_address == "10.0.0.1"
    with pytest.raises(ConfigurationError, match=r"--advertise-address: 0\.0\.0\.0 is not the address of one machine"):
        resolve_configuration({"advertise_address": "0.0.0.0"}, {})
