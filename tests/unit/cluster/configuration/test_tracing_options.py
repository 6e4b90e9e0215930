from pathlib import Path

import pytest

from mockkube.cluster.configuration.cluster_configuration import resolve_configuration
from mockkube.cluster.configuration.errors import ConfigurationError
from mockkube.cluster.configuration.tracing_options import TracingOptions, find_tracing_options

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"


def write(directory: Path, text: str) -> str:
    path = directory / "tracing.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", TracingOptions("http://localhost:4318/v1/traces"), id="defaults: only what callers sample"),
        pytest.param(
            "endpoint: collector:4318\nsamplingRatePerMillion: 100\n",
            TracingOptions("http://collector:4318/v1/traces", 100),
            id="host and port",
        ),
        pytest.param(
            "endpoint: https://c.example/otel/v1/traces\n", TracingOptions("https://c.example/otel/v1/traces"), id="url"
        ),
    ],
)
def test_a_configuration_is_read_from_its_file(tmp_path: Path, text: str, expected: TracingOptions) -> None:
    given = {"tracing_config_file": write(tmp_path, HEAD + text)}
    assert resolve_configuration(given, {}).tracing_config_file == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("kind: Pod\n", "not a TracingConfiguration", id="another kind"),
        pytest.param(HEAD + "endpoint: localhost:4317\n", "4317 is that of OTLP over gRPC", id="gRPC"),
        pytest.param(HEAD + "endpoint: unix:///socket\n", "is no address", id="socket"),
        pytest.param(HEAD + "endpoint: localhost:many\n", "is no address", id="no port"),
        pytest.param(HEAD + "endpoint: 4318\n", "is no address", id="only a port"),
        pytest.param(HEAD + "samplingRatePerMillion: 1000001\n", "from 0 to 1000000", id="rate"),
        pytest.param(HEAD + "rate: 1\n", "unknown field 'rate'", id="unknown field"),
        pytest.param("- a\n", "not a mapping", id="list"),
    ],
)
def test_a_mistake_names_file_and_remedy(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError, match=problem) as caught:
        resolve_configuration({"tracing_config_file": path}, {})
    assert str(caught.value).startswith(f"--tracing-config-file: {path}: ")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"OTEL_SERVICE_NAME": "x"}, None, id="no endpoint"),
        pytest.param(
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"},
            TracingOptions("http://c:4318/v1/traces", 1_000_000),
            id="endpoint",
        ),
        pytest.param(
            {
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/own",
                "OTEL_EXPORTER_OTLP_HEADERS": "a=b, c=d=e",
                "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
                "OTEL_TRACES_SAMPLER_ARG": "0.25",
            },
            TracingOptions("http://c/own", 250_000, (("a", "b"), ("c", "d=e"))),
            id="traces, headers, sampler",
        ),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, None, id="disabled"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, None, id="none"),
    ],
)
def test_variables_of_opentelemetry_are_honoured(environment: dict[str, str], expected: TracingOptions | None) -> None:
    assert find_tracing_options(environment) == expected
    assert resolve_configuration({}, environment).tracing_config_file == expected
