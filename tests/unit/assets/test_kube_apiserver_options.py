"""Options of the kube-apiserver executable: defaults, and what upstream refuses."""

from pathlib import Path

import pytest

from mockkube.apiserver.admission.catalogue import build_plugins
from mockkube.assets.command_line import CommandLineError
from mockkube.assets.kube_apiserver_options import KubeApiserverOptions, OptionsError, load_flags
from mockkube.assets.option_validation import validate_options
from mockkube.features.versions import Version

VERSION = Version(1, 36)
COMPLETE = (
    "--etcd-servers=http://127.0.0.1:2379",
    "--service-account-issuer=https://example.com",
    "--service-account-key-file=sa.crt",
    "--service-account-signing-key-file=sa.key",
    "--authorization-mode=RBAC",
)


@pytest.fixture(autouse=True)
def signing_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that COMPLETE names, in the working directory."""
    path = tmp_path / "sa.key"
    path.write_text("-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n")
    monkeypatch.chdir(tmp_path)
    return path


def parse(*arguments: str) -> KubeApiserverOptions:
    return KubeApiserverOptions.parse([*COMPLETE, *arguments], VERSION)


def refuse(*arguments: str) -> str:
    with pytest.raises(OptionsError) as caught:
        validate_options(parse(*arguments))
    return str(caught.value)


def test_defaults() -> None:
    options = parse()
    validate_options(options)
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
        validate_options(KubeApiserverOptions.parse([], VERSION))
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
        ("--authorization-mode=Webhook", "authorization-mode Webhook's authorization config file not passed"),
        ("--authorization-mode=ABAC", "authorization-mode ABAC's authorization policy file not passed"),
        ("--authorization-policy-file=x", "cannot specify --authorization-policy-file without mode ABAC"),
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
        (
            "--authorization-config=file",
            "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags",
        ),
        ("--authentication-config=file", "--authentication-config is not simulated: leave it out"),
        (
            "--oidc-issuer-url=https://x",
            "oidc-issuer-url and oidc-client-id must be specified together when any",
        ),
        ("--logging-format=foo", 'format: Invalid value: "foo": Unsupported log format'),
        ("--service-account-issuer=https://a:b", "contained a ':' but was not a valid URL: parse "),
        ("--service-account-jwks-uri=::", 'service-account-jwks-uri must be a valid URL: parse "::": missing protocol'),
        ("--etcd-servers-overrides=foo", "--etcd-servers-overrides invalid, must be of format: group/resource#servers"),
        (
            "--cors-allowed-origins=[",
            "invalid regular expression: error parsing regexp: missing closing ]: `[`, help",
        ),
        ("--cors-allowed-origins=a", "regular expression does not pin to start/end of host in the origin header, help"),
        (
            "--strict-transport-security-directives=foo",
            "--strict-transport-security-directives invalid, allowed",
        ),
        ("--show-hidden-metrics-for-version=1.2", 'metrics.showHiddenMetricsForVersion: Invalid value: "1.2": must be'),
        ("--disabled-metrics=a-b", "metrics.disabledMetrics: Invalid value: "),
        ("--service-cluster-ip-range=fd00::/64", 'service IP family "fd00::/64" must match public address family "'),
        ("--requestheader-uid-headers=X-Uid", "is set without specifying the standard X-Remote-Uid header"),
        ("--requestheader-allowed-names= ", 'empty value in "requestheader-allowed-names"'),
    ],
)
def test_errors(argument: str, error: str) -> None:
    # The address is that of no machine, so that tests do not depend on one's interfaces.
    assert error in refuse("--advertise-address=203.0.113.1", argument)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("--emulated-version=1.20", "--secure-port=0"),
            "[emulation version 1.20 is not between [1.33, 1.36.0], "
            "minCompatibilityVersion version 1.33 is not between [1.33, 1.20], "
            "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0]",
        ),
        (
            ("--runtime-config=api/all=false",),
            "[--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true, "
            "invalid runtime-config with only api/all=false]",
        ),
        (
            ("--runtime-config=api/all=false", "--enable-priority-and-fairness=false"),
            "invalid runtime-config with only api/all=false",
        ),
        (
            ("--requestheader-uid-headers=X-Uid", "--feature-gates=RemoteRequestHeaderUID=false"),
            '--requestheader-uid-headers requires the "RemoteRequestHeaderUID" feature to be enabled',
        ),
        # What is not simulated is reported when nothing else is wrong.
        (
            ("--authentication-config=x", "--apiserver-count=0"),
            "--apiserver-count should be a positive number, but value '0' provided",
        ),
        (
            ("--authorization-mode=Webhook", "--authorization-webhook-config-file=x"),
            'authorization-mode "Webhook" is not simulated: use one of AlwaysAllow, AlwaysDeny, Node, RBAC',
        ),
    ],
)
def test_several_errors(arguments: tuple[str, ...], error: str) -> None:
    assert refuse(*arguments) == error


def test_an_empty_issuer_is_none() -> None:
    rest = [argument for argument in COMPLETE if "issuer" not in argument]
    with pytest.raises(OptionsError) as caught:
        validate_options(KubeApiserverOptions.parse([*rest, "--service-account-issuer="], VERSION))
    assert str(caught.value) == (
        "[service-account-issuer should not be an empty string, --service-account-signing-key-file, "
        "--service-account-issuer, and --api-audiences should be specified together]"
    )


def test_the_signing_key_is_read_before_other_flags_are_checked(signing_key: Path) -> None:
    signing_key.write_text("no key")
    begin = "failed to parse service-account-issuer-key-file: "
    problem = "error reading private key file sa.key: data does not contain a valid RSA or ECDSA private key"
    assert refuse("--secure-port=0") == f"{begin}{problem}"
    signing_key.unlink()
    assert refuse("--secure-port=0") == f"{begin}open sa.key: no such file or directory"


def test_values_of_the_runtime_config_are_checked_last() -> None:
    options = parse("--runtime-config=apps/v1=maybe")
    validate_options(options)
    with pytest.raises(OptionsError, match="invalid value of apps/v1: maybe"):
        _ = options.runtime_config


def test_the_reported_version_may_have_a_suffix() -> None:
    assert parse("--version=v1.36.4-mine").values["version"] == "v1.36.4-mine"
    for text, problem in (
        ("v1.99.0", 'version "v1.99.0" must match major/minor/patch of default version "v1.36.4"'),
        ("vx", 'could not parse "vx" as version'),
    ):
        with pytest.raises(CommandLineError) as caught:
            parse(f"--version={text}")
        assert str(caught.value) == f'invalid argument "{text}" for "--version" flag: {problem}'


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
    validate_options(parse(argument))


def test_node_ports() -> None:
    assert parse("--service-node-port-range=80-81").node_ports == range(80, 82)
    assert parse("--service-node-port-range=").node_ports == range(30000, 32768)
    validate_options(parse("--service-node-port-range=80-81", "--kubernetes-service-node-port=81"))
    assert refuse("--service-node-port-range=", "--kubernetes-service-node-port=1") == (
        "kubernetes service node port range  doesn't contain 1"
    )


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
    validate_options(options)
    assert options.enabled_admission_plugins == ("LimitRanger", "AlwaysDeny")
    assert {"NamespaceLifecycle", "ValidatingAdmissionWebhook"} <= set(options.disabled_admission_plugins)
    assert not {"LimitRanger", "AlwaysDeny"} & set(options.disabled_admission_plugins)


def test_empty_admission_control_disables_all_plugins() -> None:
    options = parse("--admission-control=")
    validate_options(options)
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
