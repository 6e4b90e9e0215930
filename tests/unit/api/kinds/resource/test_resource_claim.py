from mockkube.api.kinds.resource.resource_claim import ResourceClaimStrategy, ResourceClaimTemplateStrategy

CLAIM, TEMPLATE = ResourceClaimStrategy(), ResourceClaimTemplateStrategy()


def spec(device_class="c"):
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1}
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


def claim(device_class="c", **status):
    return {"metadata": {"name": "x"}, "spec": spec(device_class), "status": status}


def test_a_wish_never_changes(judge):
    (error,) = CLAIM.validate_update(claim("d"), claim("c"), judge())
    assert str(error) == (
        'spec: Invalid value: {"Devices":{"Requests":[{"Name":"r","Exactly":{"DeviceClassName":"d","Selectors":null,'
        '"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,"Capacity":null},'
        '"FirstAvailable":null}],"Constraints":null,"Config":null}}: field is immutable'
    )


def test_a_new_claim_has_no_status(judge):
    obj = claim(reservedFor=[])
    CLAIM.prepare_for_create(obj, judge())
    assert obj["status"] == {}


def test_a_template_may_give_labels_but_no_name(judge):
    obj = {"metadata": {"name": "t"}, "spec": {"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": spec()}}
    assert [str(error) for error in TEMPLATE.validate(obj, judge())] == ["spec.metadata.name: Forbidden: cannot be set"]


def test_a_template_never_changes(judge):
    new, old = ({"metadata": {"name": "t"}, "spec": {"spec": spec(name)}} for name in ("d", "c"))
    (error,) = TEMPLATE.validate_update(new, old, judge())
    assert str(error).startswith('spec: Invalid value: {"Spec":{"Devices":')


def test_reports_about_devices_given_back_are_dropped(judge):
    device = {"driver": "a.b", "pool": "p", "device": "d"}
    old = claim(allocation={"devices": {"results": [{"request": "r", **device}]}}, devices=[device])
    new = claim(devices=[device])
    CLAIM.prepare_for_update(new, old, judge("DRAResourceClaimDeviceStatus", subresource="status"))
    assert new["status"] == {}
