"""Validate probes and lifecycle handlers of containers."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateProbe and validateLifecycle

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass

_NONNEGATIVE_DETAIL: Final = "must be greater than or equal to 0"
_COUNTS: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SCHEMES: Final = ("HTTP", "HTTPS")
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_WINDOWS_SIGNALS: Final = ("SIGKILL", "SIGTERM")
_SIGNAL_NAMES: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT RTMAX RTMIN SEGV STKFLT STOP "
    "SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ"
)
_REAL_TIME_SIGNALS: Final = (*(f"RTMIN+{i}" for i in range(1, 16)), *(f"RTMAX-{i}" for i in range(1, 15)))
_LINUX_SIGNALS: Final = tuple(sorted(f"SIG{name}" for name in (*_SIGNAL_NAMES.split(" "), *_REAL_TIME_SIGNALS)))


@dataclass(frozen=True, slots=True)
class HandlerValidationContext:
    """The pod around a handler: its grace period and operating system."""

    grace_seconds: int | None
    os: str | None
    allow_zero_sleep: bool = True


def validate_probes(container: ReadOnlyObject, at: str, context: HandlerValidationContext) -> list[FieldError]:
    """Validate the probes of a container."""
    errors: list[FieldError] = []
    if probe := container.get("livenessProbe"):
        errors += _validate_probe(probe, f"{at}.livenessProbe", context)
        errors += _validate_single_success(probe, f"{at}.livenessProbe")
    if probe := container.get("readinessProbe"):
        errors += _validate_probe(probe, f"{at}.readinessProbe", context)
        seconds = probe.get("terminationGracePeriodSeconds")
        if seconds is not None:
            here = f"{at}.readinessProbe.terminationGracePeriodSeconds"
            errors.append(invalid(here, seconds, "must not be set for readinessProbes"))
    if probe := container.get("startupProbe"):
        errors += _validate_probe(probe, f"{at}.startupProbe", context)
        errors += _validate_single_success(probe, f"{at}.startupProbe")
    return errors


def _validate_single_success(probe: ReadOnlyObject, at: str) -> list[FieldError]:
    # A liveness or startup probe ends with its first success, so it cannot require more of them.
    threshold = probe.get("successThreshold", 0)
    return [] if threshold == 1 else [invalid(f"{at}.successThreshold", threshold, "must be 1")]


def _validate_probe(probe: ReadOnlyObject, at: str, context: HandlerValidationContext) -> list[FieldError]:
    errors = _validate_handler(probe, at, _PROBE_HANDLERS, context)
    errors += [invalid(f"{at}.{name}", probe[name], _NONNEGATIVE_DETAIL) for name in _COUNTS if probe.get(name, 0) < 0]
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid(f"{at}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return errors


def validate_lifecycle(lifecycle: ReadOnlyObject, at: str, context: HandlerValidationContext) -> list[FieldError]:
    """Validate postStart, preStop and stopSignal."""
    errors: list[FieldError] = []
    for name in ("postStart", "preStop"):
        if name in lifecycle:
            errors += _validate_handler(lifecycle[name], f"{at}.{name}", _LIFECYCLE_HANDLERS, context)
    if "stopSignal" in lifecycle:
        errors += _validate_signal(lifecycle["stopSignal"], f"{at}.stopSignal", context.os)
    return errors


def _validate_signal(signal: str, at: str, os: str | None) -> list[FieldError]:
    # Signals differ between systems, and the scheduler may place a pod without spec.os on either.
    if os is None:
        return [forbidden(at, "may not be set for containers with empty `spec.os.name`")]
    known = {"windows": _WINDOWS_SIGNALS, "linux": _LINUX_SIGNALS}.get(os)
    return [not_supported(at, signal, known)] if known and signal not in known else []


def _validate_handler(
    handler: ReadOnlyObject, at: str, kinds: tuple[str, ...], context: HandlerValidationContext
) -> list[FieldError]:
    given = [kind for kind in kinds if kind in handler]
    if not given:
        return [required(at, "must specify a handler type")]
    errors = _validate_action(given[0], handler[given[0]], f"{at}.{given[0]}", context)
    return errors + [forbidden(f"{at}.{kind}", "may not specify more than 1 handler type") for kind in given[1:]]


def _validate_action(kind: str, action: ReadOnlyObject, at: str, context: HandlerValidationContext) -> list[FieldError]:
    match kind:
        case "exec":
            return [] if action.get("command") else [required(f"{at}.command")]
        case "httpGet":
            return _validate_http(action, at)
        case "sleep":
            return _validate_sleep(action.get("seconds", 0), at, context)
        case _:
            return validate_port_number_or_name(action.get("port", 0), f"{at}.port")


def _validate_http(action: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = [] if action.get("path") else [required(f"{at}.path")]
    errors += validate_port_number_or_name(action.get("port", 0), f"{at}.port")
    if action.get("scheme") not in _SCHEMES:
        errors.append(not_supported(f"{at}.scheme", action.get("scheme", ""), _SCHEMES))
    for header in action.get("httpHeaders", ()):
        name = header.get("name", "")
        errors += [invalid(f"{at}.httpHeaders", name, text) for text in names.check_http_header_name(name)]
    return errors


def validate_port_number_or_name(port: int | str, at: str) -> list[FieldError]:
    """Validate a port number or port name."""
    texts = names.check_port_name(port) if isinstance(port, str) else names.check_port_number(port)
    return [invalid(at, port, text) for text in texts]


def _validate_sleep(seconds: int, at: str, context: HandlerValidationContext) -> list[FieldError]:
    grace = context.grace_seconds
    least = 0 if context.allow_zero_sleep else 1
    # A sleep longer than the grace period would always be cut off by SIGKILL.
    if grace is None or least <= seconds <= grace:
        return []
    if context.allow_zero_sleep:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    else:
        text = (
            f"must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). "
            "Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        )
    return [invalid(at, seconds, text)]
