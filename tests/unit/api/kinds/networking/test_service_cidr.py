import pytest

from mockkube.api.kinds.networking.service_cidr import ServiceCIDRStrategy

STRATEGY = ServiceCIDRStrategy()


def ranges(*cidrs):
    return {"metadata": {"name": "c"}, "spec": {"cidrs": list(cidrs)}, "status": {}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(ranges("10.0.0.0/16", "fd00::/64"), [], id="one per family"),
        pytest.param(ranges(), ["spec.cidrs: Required value: at least one CIDR required"], id="none"),
        pytest.param(
            ranges("10.0.0.0/16", "11.0.0.0/16"),
            [
                'spec.cidrs: Invalid value: ["10.0.0.0/16","11.0.0.0/16"]: may specify no more than one IP for each IP '
                "family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
            id="two of a family",
        ),
    ],
)
def test_ranges_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        pytest.param(ranges("10.0.0.0/16"), False, id="unchanged"),
        pytest.param(ranges("10.0.0.0/16", "fd00::/64"), False, id="second family"),
        pytest.param(ranges("11.0.0.0/16"), True, id="another"),
        pytest.param(ranges(), True, id="none"),
    ],
)
def test_a_second_family_may_come_later(judge, new, refused):
    assert bool(STRATEGY.validate_update(new, ranges("10.0.0.0/16"), judge())) is refused


def test_the_status_can_be_set_with_the_object_unless_its_gate_is_on(judge):
    status = {"conditions": [{"type": "Ours"}]}
    for gates, kept in (((), status), (("ServiceCIDRStatusFieldWiping",), {})):
        created, updated = ({**ranges("10.0.0.0/16"), "status": dict(status)} for _ in range(2))
        STRATEGY.prepare_for_create(created, judge(*gates))
        STRATEGY.prepare_for_update(updated, ranges("10.0.0.0/16"), judge(*gates))
        assert (created["status"], updated["status"]) == (kept, kept)
