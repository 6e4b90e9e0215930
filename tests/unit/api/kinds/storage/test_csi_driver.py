import pytest

from mockkube.api.kinds.storage.csi_driver import CSIDriverStrategy

STRATEGY = CSIDriverStrategy()


def driver(**spec):
    fields = {"attachRequired": True, "podInfoOnMount": False, "storageCapacity": False}
    return {"metadata": {"name": "d"}, "spec": {**fields, **spec}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(driver(), [], id="fine"),
        pytest.param(driver(attachRequired=None), ["spec.attachedRequired: Required value"], id="attach"),
        pytest.param(
            driver(tokenRequests=[{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}]),
            [
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 "
                "minutes",
                'spec.tokenRequests[1].audience: Duplicate value: "a"',
            ],
            id="tokens",
        ),
        pytest.param(
            driver(volumeLifecycleModes=["Odd"]),
            ['spec.volumeLifecycleModes: Unsupported value: "Odd": supported values: "Persistent", "Ephemeral"'],
            id="modes",
        ),
    ],
)
def test_a_driver_is_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_what_is_switched_off_is_dropped_unless_in_use(judge):
    obj = driver(seLinuxMount=True)
    STRATEGY.prepare_for_update(obj, driver(seLinuxMount=False), judge())
    assert obj["spec"]["seLinuxMount"] is True
    STRATEGY.prepare_for_create(obj, judge())
    assert "seLinuxMount" not in obj["spec"]


def test_changes_are_counted_from_the_first_on(judge):
    new = driver(requiresRepublish=True)
    STRATEGY.prepare_for_update(new, driver(), judge())
    assert new["metadata"]["generation"] == 1


def test_attachment_never_changes(judge):
    (error,) = STRATEGY.validate_update(driver(attachRequired=False), driver(), judge())
    assert str(error) == "spec.attachedRequired: Invalid value: false: field is immutable"


def test_tokens_that_may_get_logged_earn_a_warning(judge):
    obj = driver(tokenRequests=[{"audience": "a"}])
    assert len(STRATEGY.warnings_on_create(obj, judge("CSIServiceAccountTokenSecrets"))) == 1
    assert STRATEGY.warnings_on_update(obj, obj, judge("CSIServiceAccountTokenSecrets")) == []
