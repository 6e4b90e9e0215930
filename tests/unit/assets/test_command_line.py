"""Command lines are parsed as pflag does, errors included."""

from typing import Any

import pytest

from mockkube.assets.command_line import CommandLineError, format_flags, parse_command_line, parse_flags_table

TABLE = parse_flags_table(
    "\n".join(
        (
            "# name, type, default, help",
            "cert-dir\tstring\t/var/run\tA directory.",
            "etcd-servers\tstrings\t\t",
            "event-ttl\tduration\t1h0m0s\t",
            "help\tbool\tfalse\tShow this text.",
            "issuer\tstringArray\t\t",
            "labels\tstringToString\t\t",
            "node-ports\tportRange\t30000-32767\t",
            "runtime-config\tmapStringString\t\t",
            "secure-port\tint\t6443\t",
            "sni\tnamedCertKey\t\t",
            "v\tLevel\t0\t",
            "version\tversion\tfalse\t",
            "watch-cache\tbool\ttrue\t",
        )
    )
)
SHORTHANDS = {"h": "help", "v": "v"}


def parse(*arguments: str) -> dict[str, Any]:
    return parse_command_line("kube-apiserver", arguments, TABLE, SHORTHANDS)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["--secure-port=1"], {"secure-port": 1}),
        (["--secure-port", "1"], {"secure-port": 1}),
        (["--secure_port=0x10"], {"secure-port": 16}),
        (["--watch-cache"], {"watch-cache": True}),
        (["--watch-cache=F"], {"watch-cache": False}),
        (["-v=4"], {"v": 4}),
        (["-v", "4"], {"v": 4}),
        (["-v4"], {"v": 4}),
        (["--v=4"], {"v": 4}),
        (["--etcd-servers=a,b", "--etcd-servers=c"], {"etcd-servers": ("a", "b", "c")}),
        (['--etcd-servers="a,b",c'], {"etcd-servers": ("a,b", "c")}),
        (["--issuer=a,b", "--issuer=c"], {"issuer": ("a,b", "c")}),
        (["--event-ttl=1m30s"], {"event-ttl": 90.0}),
        (["--labels=a,b=c"], {"labels": {"a,b": "c"}}),
        (["--labels=a=b,c=d", "--labels=c=e"], {"labels": {"a": "b", "c": "e"}}),
        (["--node-ports=1000+10"], {"node-ports": range(1000, 1011)}),
        (["--node-ports= 80 "], {"node-ports": range(80, 81)}),
        (["--node-ports=80-90"], {"node-ports": range(80, 91)}),
        (["--node-ports="], {"node-ports": range(0)}),
        (["--runtime-config=a/v1=true,api/all"], {"runtime-config": {"a/v1": "true", "api/all": ""}}),
        (["--cert-dir="], {"cert-dir": ""}),
        (["--version"], {"version": True}),
        (["--version=raw"], {"version": "raw"}),
        (["--help", "me"], {"help": True}),
        (["--secure-port=1", "--secure-port=2"], {"secure-port": 2}),
    ],
)
def test_values(arguments: list[str], values: dict[str, Any]) -> None:
    assert parse(*arguments) == values


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["--sni=a"],
            'invalid argument "a" for "--sni" flag: expected comma separated certificate and key file paths',
        ),
        (["--sni=a,b: "], 'invalid argument "a,b: " for "--sni" flag: empty names list is not allowed'),
        (["--nonsense"], "unknown flag: --nonsense"),
        (["--nonsense=1"], "unknown flag: --nonsense"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["--=1"], "bad flag syntax: --=1"),
        (["--secure-port"], "flag needs an argument: --secure-port"),
        (["-v"], "flag needs an argument: 'v' in -v"),
        (
            ["--secure-port=x"],
            'invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (
            ["--secure-port=99999999999999999999"],
            'invalid argument "99999999999999999999" for "--secure-port" flag: '
            'strconv.ParseInt: parsing "99999999999999999999": value out of range',
        ),
        (
            ["--watch-cache=maybe"],
            'invalid argument "maybe" for "--watch-cache" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (["--v=x"], 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'),
        (["--event-ttl=5"], 'invalid argument "5" for "--event-ttl" flag: time: missing unit in duration "5"'),
        (["--labels=a"], 'invalid argument "a" for "--labels" flag: a must be formatted as key=value'),
        (["--node-ports=x"], 'invalid argument "x" for "--node-ports" flag: strconv.Atoi: parsing "x": invalid syntax'),
        (
            ["--node-ports=9-8"],
            'invalid argument "9-8" for "--node-ports" flag: end port cannot be less than start port: 9-8',
        ),
        (["--node-ports=1-2+3"], 'invalid argument "1-2+3" for "--node-ports" flag: unable to parse port range: 1-2+3'),
        (
            ["--node-ports=-3"],
            'invalid argument "-3" for "--node-ports" flag: strconv.Atoi: parsing "": invalid syntax',
        ),
        (
            ["--node-ports=1-70000"],
            'invalid argument "1-70000" for "--node-ports" flag: the port range cannot be greater than 65535: 1-70000',
        ),
        (["--event-ttl=long"], 'invalid argument "long" for "--event-ttl" flag: time: invalid duration "long"'),
        (["--watch-cache", "false"], '"kube-apiserver" does not take any arguments, got ["false"]'),
        (["a", "--", "--b"], '"kube-apiserver" does not take any arguments, got ["a" "--b"]'),
    ],
)
def test_errors(arguments: list[str], error: str) -> None:
    with pytest.raises(CommandLineError) as caught:
        parse(*arguments)
    assert str(caught.value) == error


def test_the_help_text_has_a_line_for_each_flag() -> None:
    lines = format_flags(TABLE, SHORTHANDS).splitlines()
    assert lines[0].startswith("      --cert-dir string")
    assert lines[0].endswith("A directory. (default /var/run)")
    assert [line.split("--")[1].split()[0] for line in lines] == [flag.name for flag in TABLE]
    assert any(line.startswith("  -v, --v Level") for line in lines)
