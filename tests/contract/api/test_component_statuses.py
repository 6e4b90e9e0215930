"""How the other components are, as `kubectl get componentstatuses` shows it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
STATUSES = "/api/v1/componentstatuses"
REFUSED = 'Get "https://127.0.0.1:10259/healthz": dial tcp 127.0.0.1:10259: connect: connection refused'


async def test_what_does_not_run_is_unhealthy(api: "Api") -> None:
    listed = await api.get(STATUSES)
    assert listed["metadata"] == {}
    told = {one["metadata"]["name"]: one["conditions"][0]["status"] for one in listed["items"]}
    assert told == {"scheduler": "False", "controller-manager": "False", "etcd-0": "True"}
    scheduler = await api.get(f"{STATUSES}/scheduler")
    assert scheduler["conditions"] == [{"type": "Healthy", "status": "False", "message": REFUSED}]


async def test_one_can_be_selected_by_name_alone(api: "Api") -> None:
    listed = await api.get(f"{STATUSES}?fieldSelector=metadata.name%3Detcd-0")
    assert [one["metadata"]["name"] for one in listed["items"]] == ["etcd-0"]
    answer = await api.ask("GET", f"{STATUSES}?fieldSelector=a%3Db")
    assert answer.status == 400


async def test_they_are_shown_as_a_table(api: "Api") -> None:
    answer = await api.ask("GET", STATUSES, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert answer.json["rows"][0]["cells"][:2] == ["scheduler", "Unhealthy"]
    assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        pytest.param("GET", f"{STATUSES}/kubelet", 404, 'componentstatus "kubelet" not found', id="another component"),
        pytest.param(
            "GET",
            f"{STATUSES}?watch=true",
            405,
            'watch is not supported on resources of kind "componentstatuses"',
            id="nobody can watch",
        ),
        pytest.param(
            "DELETE",
            f"{STATUSES}/scheduler",
            405,
            "the server does not allow this method on the requested resource",
            id="nobody can write",
        ),
    ],
)
async def test_what_cannot_be_asked(api: "Api", method: str, path: str, status: int, message: str) -> None:
    answer = await api.ask(method, path)
    assert (answer.status, answer.message) == (status, message)


async def test_what_runs_is_healthy(api: "Api", tmp_path: Path) -> None:
    async with type(api).of_new_cluster(tmp_path, without=("kubelets", "controllers")) as client:
        scheduler = await client.get(f"{STATUSES}/scheduler")
        assert scheduler["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}]
