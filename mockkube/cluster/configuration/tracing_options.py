"""Endpoint and sampling rate of traces: from a TracingConfiguration, or from the variables of OpenTelemetry."""

# upstream 1.36: component-base/tracing/api/v1/config.go; differs: traces are sent with HTTP and JSON, not with gRPC
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mockkube.cluster.configuration.yaml_files import read_mapping
from mockkube.lazy_dataclasses import dataclass

KIND: Final = "TracingConfiguration"
API_VERSIONS: Final = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
ENDPOINT_DEFAULT: Final = "http://localhost:4318"
RATE_MAX: Final = 1_000_000
_TRACES_PATH: Final = "/v1/traces"
_GRPC_PORT: Final = 4317
_FIELDS: Final = ("apiVersion", "kind", "endpoint", "samplingRatePerMillion")
# https://opentelemetry.io/docs/specs/otel/protocol/exporter/, https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
_TRACES_ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_ENDPOINT_VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HEADERS_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")


@dataclass(frozen=True, slots=True)
class TracingOptions:
    """Destination of traces, and how many of a million root spans are sampled."""

    url: str
    sampling_rate_per_million: int = 0
    headers: tuple[tuple[str, str], ...] = ()


def read_tracing_configuration(path: Path) -> TracingOptions:
    """Read a TracingConfiguration; raise ValueError that names file, field and remedy."""
    document = read_mapping(path, KIND)
    if document.get("kind") != KIND or document.get("apiVersion") not in API_VERSIONS:
        raise ValueError(f"{path}: not a {KIND}: it needs apiVersion: {API_VERSIONS[0]} and kind: {KIND}")
    if unknown := [name for name in document if name not in _FIELDS]:
        raise ValueError(f"{path}: unknown field {unknown[0]!r}: known are {', '.join(_FIELDS[2:])}")
    rate = document.get("samplingRatePerMillion", 0)
    if not isinstance(rate, int) or isinstance(rate, bool) or not 0 <= rate <= RATE_MAX:
        raise ValueError(f"{path}: samplingRatePerMillion: {rate!r}: it must be a number from 0 to {RATE_MAX}")
    return TracingOptions(_parse_endpoint(path, document.get("endpoint", ENDPOINT_DEFAULT)), rate)


def _parse_endpoint(path: Path, endpoint: Any) -> str:
    text = endpoint if isinstance(endpoint, str) else ""
    parts = urlsplit(text if "//" in text else f"http://{text}")
    try:
        port = parts.port
    except ValueError:
        port = None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{path}: endpoint: {endpoint!r} is no address: write it like {ENDPOINT_DEFAULT}")
    if port == _GRPC_PORT:
        raise ValueError(
            f"{path}: endpoint: port {port} is that of OTLP over gRPC: give the one of OTLP over HTTP, like 4318"
        )
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return url if parts.path.endswith(_TRACES_PATH) else f"{url}{_TRACES_PATH}"


def find_tracing_options(environment: Mapping[str, str]) -> TracingOptions | None:
    """Return the options that variables of OpenTelemetry set; None if they name no endpoint, or turn it off."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    url = environment.get(_TRACES_ENDPOINT_VARIABLE)
    if not url:
        base = environment.get(_ENDPOINT_VARIABLE)
        if not base:
            return None
        url = f"{base.rstrip('/')}{_TRACES_PATH}"
    if "://" not in url:
        url = f"http://{url}"
    return TracingOptions(url, _read_sampling_rate(environment), _read_headers(environment))


def _read_sampling_rate(environment: Mapping[str, str]) -> int:
    """Return the rate of OTEL_TRACES_SAMPLER: all root spans by default."""
    sampler = environment.get("OTEL_TRACES_SAMPLER", "parentbased_always_on")
    if sampler.endswith("always_off"):
        return 0
    if not sampler.endswith("traceidratio"):
        return RATE_MAX
    try:
        ratio = float(environment.get("OTEL_TRACES_SAMPLER_ARG", "1"))
    except ValueError:
        ratio = 1.0
    return round(min(max(ratio, 0.0), 1.0) * RATE_MAX)


def _read_headers(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    text = next((environment[name] for name in _HEADERS_VARIABLES if environment.get(name)), "")
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)
