"""The claims of a pod, by their names."""

from typing import Any

import pytest

from mockkube.matching.pod_claims import DeviceClaim, VolumeClaim, device_claim, volume_claims


def pod(statuses: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": spec, "status": {"resourceClaimStatuses": statuses or []}}


def test_volumes_name_claims_or_have_them_made() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "mine"}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "scratch", "ephemeral": {}},
    ]
    assert list(volume_claims(pod(volumes=volumes))) == [VolumeClaim("mine"), VolumeClaim("web-scratch", True)]


def test_without_volumes_there_are_no_claims() -> None:
    assert list(volume_claims(pod())) == []


@pytest.mark.parametrize(
    ("wanted", "statuses", "known"),
    [
        pytest.param({"name": "gpu", "resourceClaimName": "mine"}, [], DeviceClaim("mine"), id="named"),
        pytest.param(
            {"name": "gpu", "resourceClaimTemplateName": "t"},
            [{"name": "gpu", "resourceClaimName": "web-gpu-x"}],
            DeviceClaim("web-gpu-x", generated=True),
            id="made from a template",
        ),
        pytest.param(
            {"name": "gpu", "resourceClaimTemplateName": "t"},
            [{"name": "gpu"}],
            DeviceClaim(unneeded=True),
            id="none is needed",
        ),
        pytest.param({"name": "gpu", "resourceClaimTemplateName": "t"}, [], DeviceClaim(), id="not made yet"),
    ],
)
def test_a_wish_for_devices_has_a_claim(
    wanted: dict[str, str], statuses: list[dict[str, Any]], known: DeviceClaim
) -> None:
    assert device_claim(pod(statuses), wanted) == known
