import pytest

from mockkube.api.kinds.core.limit_range import LimitRangeStrategy

STRATEGY = LimitRangeStrategy()


def limits(*items):
    return {"metadata": {"name": "l"}, "spec": {"limits": list(items)}}


@pytest.mark.parametrize(
    ("item", "complaints"),
    [
        pytest.param({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}}, [], id="fine"),
        pytest.param(
            {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
            id="least above most",
        ),
        pytest.param(
            {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
            [
                'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than '
                "default limit value 1"
            ],
            id="asks for more than it may have",
        ),
        pytest.param(
            {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
            [
                'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than '
                "max/min = 2.000000"
            ],
            id="ratio above what is possible",
        ),
        pytest.param(
            {"type": "Pod", "default": {"cpu": "1"}},
            ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
            id="a pod has no default",
        ),
        pytest.param(
            {"type": "PersistentVolumeClaim"},
            [
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but "
                "neither was provided"
            ],
            id="a claim needs a bound",
        ),
        pytest.param(
            {"type": "Odd"},
            ['spec.limits[0].type: Invalid value: "Odd": must be a standard limit type or fully qualified'],
            id="unknown type",
        ),
    ],
)
def test_amounts_fit_together(judge, item, complaints):
    assert [str(error) for error in STRATEGY.validate(limits(item), judge())] == complaints


def test_a_type_stands_once(judge):
    item = {"type": "Container"}
    assert [str(error) for error in STRATEGY.validate(limits(item, item), judge())] == [
        'spec.limits[1].type: Duplicate value: "Container"'
    ]


def test_limits_without_a_name_are_called_by_their_uid(judge):
    obj = {"metadata": {"uid": "u"}, "spec": {"limits": []}}
    LimitRangeStrategy().prepare_for_create(obj, judge())
    assert obj["metadata"]["name"] == "u"
