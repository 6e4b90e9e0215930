import pytest

from mockkube.api.kinds.coordination.lease import LeaseCandidateStrategy, LeaseStrategy

LEASE, CANDIDATE = LeaseStrategy(), LeaseCandidateStrategy()


@pytest.mark.parametrize(
    ("spec", "complaints"),
    [
        pytest.param({}, [], id="empty"),
        pytest.param(
            {"leaseDurationSeconds": 0},
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
            id="no time",
        ),
        pytest.param(
            {"preferredHolder": "x"},
            ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
            id="preference without strategy",
        ),
        pytest.param(
            {"strategy": "Odd"},
            ['spec.strategy.strategy: Unsupported value: "Odd": supported values: "OldestEmulationVersion"'],
            id="unknown strategy",
        ),
        pytest.param({"strategy": "a.b/own"}, [], id="strategy of one's own"),
    ],
)
def test_a_lease_is_judged(judge, spec, complaints):
    assert [str(error) for error in LEASE.validate({"metadata": {}, "spec": spec}, judge())] == complaints


def test_coordination_is_behind_a_gate(judge):
    obj = {"metadata": {}, "spec": {"strategy": "OldestEmulationVersion"}}
    LEASE.prepare_for_update(obj, obj, judge())
    assert "strategy" in obj["spec"]
    LEASE.prepare_for_create(obj, judge())
    assert "strategy" not in obj["spec"]


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param({"emulationVersion": "1.2.0", "binaryVersion": "1.3.0"}, [], id="fine"),
        pytest.param(
            {"emulationVersion": "1.3.0", "binaryVersion": "1.3.0-alpha.1"},
            ["spec.binaryVersion"],
            id="older than claimed",
        ),
        pytest.param({"binaryVersion": "1.3"}, ["spec.binaryVersion", "spec.emulationVersion"], id="no version"),
    ],
)
def test_a_candidate_is_as_new_as_it_claims(judge, spec, fields):
    spec = {"leaseName": "l", "strategy": "OldestEmulationVersion", **spec}
    errors = CANDIDATE.validate({"metadata": {}, "spec": spec}, judge())
    assert [error.field for error in errors] == fields
