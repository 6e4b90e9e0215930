"""Options of the kube-apiserver executable: defaults, and what upstream refuses."""

from pathlib import Path

import pytest

from mockkube.apiserver.admission.catalogue import build_plugins
from mockkube.assets.command_line import CommandLineError
from mockkube.assets.kube_apiserver_options import KubeApiserverOptions, OptionsError, load_flags
from mockkube.features.versions import Version

VERSION = Version(1, 36)
COMPLETE = (
    "--etcd-servers=http://127.0.0.1:2379",
    "--service-account-issuer=https://example.com",
    "--service-account-key-file=sa.crt",
    "--service-account-signing-key-file=sa.key",
    "--authorization-mode=RBAC",
)


def parse(*arguments: str) -> KubeApiserverOptions:
    return KubeApiserverOptions.parse([*COMPLETE, *arguments], VERSION)


def refuse(*arguments: str) -> str:
    with pytest.raises(OptionsError) as caught:
        parse(*arguments).validate()
    return str(caught.value)


def test_defaults() -> None:
    options = parse()
    options.validate()
    assert options.port == 6443
    assert options.bind_address == "0.0.0.0"
    assert options.service_cidrs == ("10.0.0.0/24",)
    assert options.node_ports == range(30000, 32768)
    assert options.anonymous_auth
    assert options.version == VERSION
    assert options.tokens == {}


def test_every_default_can_be_parsed() -> None:
    assert {flag.name for flag in load_flags()} <= parse().values.keys()


def test_without_any_flag_all_errors_are_said_at_once() -> None:
    with pytest.raises(OptionsError) as caught:
        KubeApiserverOptions.parse([], VERSION).validate()
    assert str(caught.value) == (
        "[--etcd-servers must be specified, service-account-issuer is a required flag, "
        "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set, "
        "--service-account-signing-key-file and --service-account-issuer are required flags]"
    )


def test_nobody_is_anonymous_where_everything_is_allowed() -> None:
    options = KubeApiserverOptions.parse([], VERSION)
    assert options.authorization_modes == ("AlwaysAllow",)
    assert not options.anonymous_auth


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ("--secure-port=0", "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0"),
        ("--authorization-mode=Nonsense", 'authorization-mode "Nonsense" is not a valid mode'),
        ("--authorization-mode=RBAC", 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
        (
            "--authorization-mode=Webhook",
            'authorization-mode "Webhook" is not simulated: use one of AlwaysAllow, AlwaysDeny, Node, RBAC',
        ),
        ("--enable-admission-plugins=Nonsense", 'enable-admission-plugins plugin "Nonsense" is unknown'),
        ("--runtime-config=nonsense/v1=true", "unknown api groups nonsense/v1"),
        ("--runtime-config=nonsense=true", "runtime-config invalid key nonsense"),
        ("--runtime-config=api/all=false", "invalid runtime-config with only api/all=false"),
        ("--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24", "must be of different IP family"),
        ("--service-cluster-ip-range=nonsense", "service-cluster-ip-range[0] is not a valid cidr"),
        ("--service-cluster-ip-range=10.0.0.0/24,10.0.0.0", "service-cluster-ip-range[1] is not an ip net"),
        ("--service-cluster-ip-range=10.0.0.0/30", "the service cluster IP range must be at least 8 IP addresses"),
        ("--service-account-jwks-uri=http://x/keys", "service-account-jwks-uri requires https scheme, parsed as: http"),
        ("--service-account-max-token-expiration=1m", "must be between 1 hour and 2^32 seconds"),
        ("--kubernetes-service-node-port=1", "kubernetes service node port range 30000-32767 doesn't contain 1"),
        ("--kubernetes-service-node-port=-1", "--kubernetes-service-node-port -1 must be between 0 and 65535"),
        ("--apiserver-count=0", "--apiserver-count should be a positive number, but value '0' provided"),
        ("--storage-media-type=text/plain", '--storage-media-type "text/plain" invalid, allowed values: application/'),
        ("--watch-cache-sizes=pods", "invalid value of watch cache size: pods"),
        ("--watch-cache-sizes=pods#x", "invalid size of watch cache size: pods#x"),
        ("--watch-cache-sizes=pods#-1", "watch cache size cannot be negative: pods#-1"),
        ("--feature-gates=Nonsense=true", "unrecognized feature gate: Nonsense"),
        ("--emulated-version=1.20", "emulation version 1.20 is not between [1.33, 1.36.0]"),
        ("--service-account-issuer=https://example.com", 'service-account-issuer "https://example.com" is already'),
        ("--storage-backend=etcd2", "--storage-backend invalid, allowed values: etcd3."),
        ("--request-timeout=-1s", "--request-timeout can not be negative value"),
        ("--authorization-config=file", "--authorization-config is not simulated: leave it out"),
    ],
)
def test_errors(argument: str, error: str) -> None:
    assert error in refuse(argument)


@pytest.mark.parametrize(
    ("argument", "error"),
    [
        ("--audit-log-mode=x", 'invalid audit log mode x, allowed modes are "batch,blocking,blocking-strict"'),
        ("--audit-log-format=x", 'invalid audit log format x, allowed formats are "legacy,json"'),
        ("--audit-log-maxsize=-1", "--audit-log-maxsize -1 can't be a negative number"),
    ],
)
def test_flags_of_the_audit_log_count_once_there_is_one(argument: str, error: str) -> None:
    assert refuse("--audit-log-path=-", argument) == error
    parse(argument).validate()


def test_gates_and_emulated_version() -> None:
    options = parse(
        "--emulated-version=1.35", "--feature-gates=ImageVolume=true", "--feature-gates=MutatingAdmissionPolicy=true"
    )
    assert options.version == Version(1, 35)
    assert options.effective_flags.gates.overrides == {"ImageVolume": True, "MutatingAdmissionPolicy": True}
    with pytest.raises(CommandLineError, match="unknown flag: --nonsense"):
        parse("--nonsense")


def test_token_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('secret,jane,uid-1,"group1,group2"\nother,joe,uid-2\n,nobody,x\n')
    tokens = parse(f"--token-auth-file={path}").tokens
    assert [(user.name, user.uid, user.groups) for user in tokens.values()] == [
        ("jane", "uid-1", ("group1", "group2")),
        ("joe", "uid-2", ()),
    ]
    path.write_text("secret,jane\n")
    with pytest.raises(OptionsError, match=r"must have at least 3 columns .* found 2"):
        _ = parse(f"--token-auth-file={path}").tokens
    with pytest.raises(OptionsError, match="no such file"):
        _ = parse("--token-auth-file=/nonexistent").tokens


def test_admission_control_names_all_plugins_that_run() -> None:
    options = parse("--admission-control=LimitRanger,AlwaysDeny")
    options.validate()
    assert options.enabled_admission_plugins == ("LimitRanger", "AlwaysDeny")
    assert {"NamespaceLifecycle", "ValidatingAdmissionWebhook"} <= set(options.disabled_admission_plugins)
    assert not {"LimitRanger", "AlwaysDeny"} & set(options.disabled_admission_plugins)


def test_empty_admission_control_disables_all_plugins() -> None:
    options = parse("--admission-control=")
    options.validate()
    names = [plugin.name for plugin in build_plugins((), options.disabled_admission_plugins)]
    assert names == []
    assert options.enabled_admission_plugins == ()


def test_admission_control_excludes_the_other_flags() -> None:
    assert refuse("--admission-control=LimitRanger", "--disable-admission-plugins=Priority") == (
        "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
    )
    assert refuse("--admission-control=Nonsense") == 'admission-control plugin "Nonsense" is unknown'


def test_deprecated_flags_are_reported() -> None:
    assert parse().deprecations == []
    assert parse("--kubelet-port=1", "--event-ttl=1h").deprecations == [
        "Flag --kubelet-port has been deprecated, kubelet-port is deprecated and will be removed."
    ]
