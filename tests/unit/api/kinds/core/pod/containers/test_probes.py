"""Probes and lifecycle handlers."""

import pytest

from mockkube.api.kinds.core.pod.containers.probes import HandlerValidationContext, validate_lifecycle, validate_probes

RULES = HandlerValidationContext(grace_seconds=30, os="linux")
TCP = {"tcpSocket": {"port": 80}, "successThreshold": 1}


def probe(probe, kind="livenessProbe"):
    return [str(error).removeprefix(f"c.{kind}") for error in validate_probes({kind: probe}, "c", RULES)]


def lifecycle(handlers, rules=RULES):
    return [str(error) for error in validate_lifecycle(handlers, "l", rules)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param(TCP, [], id="tcp"),
        pytest.param({"successThreshold": 1}, [": Required value: must specify a handler type"], id="no handler"),
        pytest.param(
            {**TCP, "exec": {"command": ["a"]}},
            [".tcpSocket: Forbidden: may not specify more than 1 handler type"],
            id="two handlers",
        ),
        pytest.param(
            {**TCP, "successThreshold": 2}, [".successThreshold: Invalid value: 2: must be 1"], id="twice alive"
        ),
        pytest.param(
            {**TCP, "periodSeconds": -1},
            [".periodSeconds: Invalid value: -1: must be greater than or equal to 0"],
            id="negative period",
        ),
        pytest.param(
            {**TCP, "terminationGracePeriodSeconds": 0},
            [".terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
            id="no grace",
        ),
        pytest.param(
            {"httpGet": {"port": "a--b", "scheme": "FTP", "httpHeaders": [{"name": "a:"}]}, "successThreshold": 1},
            [
                ".httpGet.path: Required value",
                '.httpGet.port: Invalid value: "a--b": must not contain consecutive hyphens',
                '.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
                '.httpGet.httpHeaders: Invalid value: "a:": a valid HTTP header must consist of '
                "alphanumeric characters "
                "or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
            ],
            id="odd request",
        ),
        pytest.param(
            {"grpc": {"port": 0}, "successThreshold": 1},
            [".grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
            id="no port",
        ),
    ],
)
def test_liveness(given, says):
    assert probe(given) == says


def test_readiness_has_no_grace_of_its_own_but_may_ask_for_several_successes():
    assert probe({**TCP, "successThreshold": 3, "terminationGracePeriodSeconds": 5}, "readinessProbe") == [
        ".terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes"
    ]


@pytest.mark.parametrize(
    ("seconds", "zero", "refused"),
    [
        pytest.param(30, True, False, id="as long as the grace"),
        pytest.param(31, True, True, id="longer"),
        pytest.param(0, True, False, id="not at all"),
        pytest.param(0, False, True, id="not at all, which is not known yet"),
    ],
)
def test_sleep_ends_before_the_grace(seconds, zero, refused):
    rules = HandlerValidationContext(30, None, allow_zero_sleep=zero)
    assert bool(lifecycle({"preStop": {"sleep": {"seconds": seconds}}}, rules)) is refused


@pytest.mark.parametrize(
    ("os", "signal", "says"),
    [
        pytest.param("linux", "SIGRTMIN+15", [], id="linux"),
        pytest.param(
            "windows",
            "SIGHUP",
            ['l.stopSignal: Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"'],
            id="windows knows two",
        ),
        pytest.param(
            None,
            "SIGTERM",
            ["l.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`"],
            id="nobody knows for what",
        ),
    ],
)
def test_signals_depend_on_the_operating_system(os, signal, says):
    assert lifecycle({"stopSignal": signal}, HandlerValidationContext(30, os)) == says
