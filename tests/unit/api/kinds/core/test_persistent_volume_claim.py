"""The strategy of persistent volume claims."""

from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.core.persistent_volume_claim import PersistentVolumeClaimStrategy
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JUDGE = StrategyContext(Capabilities(), NOW)
STATUS = StrategyContext(JUDGE.caps, NOW, "status")
CLAIMS = PersistentVolumeClaimStrategy()
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"kind": "PersistentVolumeClaim", "name": "a"}
SNAPSHOT = {"kind": "VolumeSnapshot", "name": "a", "apiGroup": "snapshot.storage.k8s.io"}
ODD = {"kind": "Odd", "name": "a", "apiGroup": "example.com"}


def claim(status=None, annotations=None, **spec):
    meta = {"name": "c", "namespace": "n", "resourceVersion": "1", "annotations": annotations or {}}
    return {"metadata": meta, "spec": {**SPEC, **spec}, "status": status or {}}


def test_a_claim_is_pending():
    obj = claim({"phase": "Bound"})
    CLAIMS.prepare_for_create(obj, JUDGE)
    assert obj["status"] == {"phase": "Pending"}
    assert CLAIMS.validate(obj, JUDGE) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"dataSource": VOLUME}, {"dataSource": VOLUME, "dataSourceRef": VOLUME}, id="old field"),
        pytest.param({"dataSourceRef": SNAPSHOT}, {"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}, id="new field"),
        pytest.param({"dataSource": ODD}, {}, id="old field, other kind"),
        pytest.param({"dataSourceRef": ODD}, {"dataSource": ODD, "dataSourceRef": ODD}, id="new field, other kind"),
        pytest.param({"dataSourceRef": {**VOLUME, "namespace": "m"}}, {}, id="other namespace"),
    ],
)
def test_where_the_data_comes_from_is_said_in_both_fields(given, kept):
    obj = claim(**given)
    CLAIMS.prepare_for_create(obj, JUDGE)
    assert obj["spec"] == {**SPEC, **kept}


def test_another_namespace_is_a_source_behind_its_gate():
    reference = {**VOLUME, "namespace": "m"}
    obj = claim(dataSourceRef=reference)
    CLAIMS.prepare_for_create(
        obj, StrategyContext(Capabilities(gates=frozenset({"CrossNamespaceVolumeDataSource"})), NOW)
    )
    assert obj["spec"] == {**SPEC, "dataSourceRef": reference}


def test_spec_and_status_are_changed_apart():
    old = claim({"phase": "Pending"})
    new = claim({"phase": "Bound"}, volumeName="v")
    CLAIMS.prepare_for_update(new, old, JUDGE)
    assert (new["status"], new["spec"]["volumeName"]) == ({"phase": "Pending"}, "v")
    new = claim({"phase": "Bound"}, volumeName="v")
    CLAIMS.prepare_for_update(new, old, STATUS)
    assert (new["status"], new["spec"]) == ({"phase": "Bound"}, SPEC)


def test_a_change_and_a_report_are_judged_apart():
    old, new = claim(), claim({"capacity": {"storage": "-1"}}, volumeMode="Block")
    assert [error.field for error in CLAIMS.validate_update(new, old, JUDGE)] == ["spec", "volumeMode"]
    assert [error.field for error in CLAIMS.validate_update(new, old, STATUS)] == ["status.capacity[storage]"]


def test_an_annotated_class_is_warned_of():
    obj = claim(annotations={"volume.beta.kubernetes.io/storage-class": "a"})
    (text,) = CLAIMS.warnings_on_create(obj, JUDGE)
    assert text.endswith('deprecated since v1.8; use "storageClassName" attribute instead')
    assert CLAIMS.warnings_on_update(obj, obj, JUDGE) == [text]
    assert CLAIMS.warnings_on_update(obj, obj, STATUS) == []
