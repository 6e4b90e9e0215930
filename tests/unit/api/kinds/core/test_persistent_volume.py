"""The strategy of persistent volumes."""

from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.core.persistent_volume import PersistentVolumeStrategy
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JUDGE = StrategyContext(Capabilities(), NOW)
STATUS = StrategyContext(JUDGE.caps, NOW, "status")
VOLUMES = PersistentVolumeStrategy()
SPEC = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}


def volume(status=None, **spec):
    return {"metadata": {"name": "v", "resourceVersion": "1"}, "spec": {**SPEC, **spec}, "status": status or {}}


def test_a_volume_is_pending_since_its_creation():
    obj = volume({"phase": "Bound"})
    VOLUMES.prepare_for_create(obj, JUDGE)
    assert obj["status"] == {"phase": "Pending", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"}
    assert VOLUMES.validate(obj, JUDGE) == []


def test_attributes_wait_for_their_gate():
    judge = StrategyContext(Capabilities(Version(1, 33)), NOW)
    obj = volume(volumeAttributesClassName="a")
    VOLUMES.prepare_for_create(obj, judge)
    assert "volumeAttributesClassName" not in obj["spec"]
    new, old = volume(volumeAttributesClassName="a"), volume(volumeAttributesClassName="a")
    VOLUMES.prepare_for_update(new, old, judge)
    assert new["spec"] == old["spec"]


@pytest.mark.parametrize(
    ("new", "since"),
    [
        pytest.param({"phase": "Bound"}, "2026-01-01T00:00:00Z", id="other phase"),
        pytest.param({"phase": "Pending"}, "2020-01-01T00:00:00Z", id="same phase"),
        pytest.param(
            {"phase": "Bound", "lastPhaseTransitionTime": "2021-01-01T00:00:00Z"},
            "2021-01-01T00:00:00Z",
            id="as reported",
        ),
    ],
)
def test_a_report_dates_the_phase(new, since):
    obj, old = volume(new), volume({"phase": "Pending", "lastPhaseTransitionTime": "2020-01-01T00:00:00Z"})
    VOLUMES.prepare_for_update(obj, old, STATUS)
    assert obj["status"]["lastPhaseTransitionTime"] == since


def test_what_is_wrong_with_the_whole_is_found_twice_on_a_change():
    new, old = volume(storageClassName="A"), volume()
    assert [error.field for error in VOLUMES.validate_update(new, old, JUDGE)] == ["spec.storageClassName"] * 2
    assert VOLUMES.validate_update(new, old, STATUS) == []


def test_a_deprecated_policy_is_warned_of_but_not_in_a_status():
    obj = volume(persistentVolumeReclaimPolicy="Recycle")
    assert len(VOLUMES.warnings_on_create(obj, JUDGE)) == len(VOLUMES.warnings_on_update(obj, obj, JUDGE)) == 1
    assert VOLUMES.warnings_on_update(obj, obj, STATUS) == []
