"""Field `leaderElection` of KubeSchedulerConfiguration: parsing, defaults, validation.

upstream 1.36: staging/src/k8s.io/component-base/config/validation/validation.go
"""

from collections.abc import Iterator
from typing import Final

from mockkube_cel.golang import gotime

from mockkube.api.fields import invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.leader_election import (
    LEASE_NAMESPACE,
    LEASE_SECONDS,
    LEASES,
    RENEW_DEADLINE_SECONDS,
    RETRY_SECONDS,
    LeaderElectionConfig,
)

LEASE_NAME: Final = "kube-scheduler"
_AT: Final = "leaderElection"
_NANOS: Final = 1_000_000_000


def parse_leader_election(document: ReadOnlyObject) -> LeaderElectionConfig | None:
    """Return the election of a valid configuration; None if `leaderElect` is false."""
    given = document.get(_AT) or {}
    if given.get("leaderElect") is False:
        return None
    return LeaderElectionConfig(
        given.get("resourceName") or LEASE_NAME,
        given.get("resourceNamespace") or LEASE_NAMESPACE,
        _parse_seconds(given, "leaseDuration", LEASE_SECONDS),
        _parse_seconds(given, "renewDeadline", RENEW_DEADLINE_SECONDS),
        _parse_seconds(given, "retryPeriod", RETRY_SECONDS),
    )


def validate_leader_election(document: ReadOnlyObject) -> Iterator[str]:
    """Yield the errors of the field; without an election nothing is wrong with its timing."""
    given = document.get(_AT) or {}
    if given.get("leaderElect") is False:
        return
    wrong = False
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        if name in given and gotime.parse_duration(given[name]) is None:
            wrong = True
            yield str(invalid(f"{_AT}.{name}", given[name], "must be a duration like 15s"))
    if (lock := given.get("resourceLock") or LEASES) != LEASES:
        yield str(invalid(f"{_AT}.resourceLock", lock, f'resourceLock value must be "{LEASES}"'))
    election = None if wrong else parse_leader_election(document)
    if election is not None:
        yield from (f"{_AT}: {error}" for error in election.find_errors())


def _parse_seconds(given: ReadOnlyObject, name: str, default: float) -> float:
    span = gotime.parse_duration(given.get(name) or "")
    # upstream: a duration of zero is one that is not given
    return float(span.nanos / _NANOS) if span is not None and span.nanos else default
