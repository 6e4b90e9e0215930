from datetime import UTC, datetime

from mockkube.api.kinds.core.persistent_volume import PERSISTENT_VOLUME
from mockkube.api.kinds.core.persistent_volume_claim import PERSISTENT_VOLUME_CLAIM

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "disk", "creationTimestamp": "2026-03-14T11:00:00Z"}
DELETING = {**META, "deletionTimestamp": "2026-03-14T11:59:00Z"}
BETA = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}


def test_a_volume_shows_what_it_offers_and_to_whom() -> None:
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "shop", "name": "data"},
        "storageClassName": "fast",
        "volumeAttributesClassName": "gold",
        "volumeMode": "Block",
    }
    obj = {"metadata": META, "spec": spec, "status": {"phase": "Failed", "reason": "Lost"}}
    shown = ["disk", "5Gi", "RWO,RWX", "Retain", "Failed", "shop/data", "fast", "gold", "Lost", "60m", "Block"]
    assert PERSISTENT_VOLUME.row(obj, NOW).cells == shown


def test_a_bare_volume_says_what_is_not_set() -> None:
    cells = PERSISTENT_VOLUME.row({"metadata": META, "spec": {}, "status": {}}, NOW).cells
    assert cells == ["disk", "0", "", "", "", "", "", "<unset>", "", "60m", "<unset>"]


def test_a_claim_shows_what_it_got() -> None:
    spec = {"volumeName": "disk-1", "storageClassName": "fast", "volumeMode": "Filesystem"}
    status = {"phase": "Bound", "capacity": {"storage": "1Ti"}, "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]}
    cells = PERSISTENT_VOLUME_CLAIM.row({"metadata": META, "spec": spec, "status": status}, NOW).cells
    assert cells == ["disk", "Bound", "disk-1", "1Ti", "ROX,RWOP", "fast", "<unset>", "60m", "Filesystem"]


def test_a_claim_that_waits_shows_no_capacity() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cells = PERSISTENT_VOLUME_CLAIM.row({"metadata": META, "spec": spec, "status": {"phase": "Pending"}}, NOW).cells
    assert cells[1:5] == ["Pending", "", "", ""]


def test_the_old_annotation_names_the_class() -> None:
    obj = {"metadata": {**META, **BETA}, "spec": {"storageClassName": "new"}}
    assert PERSISTENT_VOLUME.row(obj, NOW).cells[6] == "old"
    assert PERSISTENT_VOLUME_CLAIM.row(obj, NOW).cells[5] == "old"


def test_a_deletion_shows() -> None:
    obj = {"metadata": DELETING, "spec": {}, "status": {"phase": "Bound"}}
    assert PERSISTENT_VOLUME.row(obj, NOW).cells[4] == "Terminating"
    assert PERSISTENT_VOLUME_CLAIM.row(obj, NOW).cells[1] == "Terminating"
