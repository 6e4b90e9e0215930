"""Records of runs, as tests write them down."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.apiserver.http.requests.observed_request import ObservedRequest
from mockkube.cluster.temporary_cluster import make_temporary_configuration
from mockkube.perturb.normalization import ObjectId
from mockkube.perturb.object_history import RecordedChange
from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.recorder import USER, ControllerRequest, DeliveredEvent, RunRecord, StepRecord
from mockkube.perturb.workload import ProcessSpec, Workload
from mockkube.scenario.fields import SourceLocation
from mockkube.scenario.scenario import ScenarioOperation

PROCESS = ProcessSpec("controller", ("run",))
_STEP = ScenarioOperation("apply", {}, SourceLocation("workload"))
_NO_PROTOBUF: ProtobufSerializer = None  # type: ignore[assignment] # bodies are JSON


def workload(steps: int = 2, **fields: Any) -> Workload:
    """A workload of one process."""
    configuration = make_temporary_configuration({})
    return replace(Workload(Path(), configuration, (PROCESS,), (), (_STEP,) * steps), **fields)


def request(
    verb: str, resource: str, name: str = "", *, at: float = 1.0, step: int = 1, status: int = 200,
    by: str = "controller",
    revision: int = 0, body: Any = None, **fields: Any,
) -> ControllerRequest:  # fmt: skip
    """A request; of a create the name is in the body."""
    user = PROCESS.user if by != USER else "kubernetes-admin"
    if verb == "create" and body is None:
        body = {"metadata": {"name": name} if name else {"generateName": "x-"}}
    observed = ObservedRequest(
        at=datetime(2030, 1, 1, tzinfo=UTC), verb=verb, user=user, user_agent="test", is_from_component=False,
        version="v1", kind="ConfigMap", resource=resource, namespace="ns", name="" if verb == "create" else name,
        status=status, body=b"" if body is None else orjson.dumps(body), **fields,
    )  # fmt: skip
    return ControllerRequest(at, step, by, observed, _NO_PROTOBUF, revision)


def change(name: str, revision: int, *, at: float = 1.0, gone: bool = False, **metadata: Any) -> RecordedChange:
    """A change of a ConfigMap."""
    data = metadata.pop("data", {})
    obj = {"kind": "ConfigMap", "metadata": {"name": name, "uid": f"uid-{name}", **metadata}, "data": data}
    return RecordedChange(at, revision, ObjectId("configmaps", "ns", name), obj, gone, True)


def event(name: str, revision: int, *, kind: str = "MODIFIED", step: int = 1) -> DeliveredEvent:
    """An event of a ConfigMap that the controller is shown."""
    return DeliveredEvent(1.0, step, "controller", kind, ObjectId("configmaps", "ns", name), revision)


def record(
    *requests: ControllerRequest,
    changes: Sequence[RecordedChange] = (),
    delivered: Sequence[DeliveredEvent] = (),
    perturbation: Perturbation | None = None,
    steps: int = 2,
) -> RunRecord:
    """A run with these requests."""
    ended = [
        StepRecord(index, f"step {index}", float(index), index + 0.9, index + 0.5, revision=100 * index)
        for index in range(steps + 1)
    ]
    return RunRecord(perturbation, 0.0, list(requests), list(delivered), [], ended, changes)
