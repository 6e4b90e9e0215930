import pytest

from mockkube.apiserver.admission.errors import join_reasons, new_forbidden


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        pytest.param({"name": "a"}, "a", id="its name"),
        pytest.param({"generateName": "a-"}, "a-", id="the stem of a name to be generated"),
        pytest.param({}, "Unknown", id="nothing"),
    ],
)
async def test_a_refusal_calls_the_object_by(world, metadata, name):
    request = world.creation({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ns", **metadata}})
    assert new_forbidden(request, "no").message == f'configmaps "{name}" is forbidden: no'


def test_several_reasons_are_told_once_each():
    assert join_reasons(["a"]) == "a"
    assert join_reasons(["a", "b", "a"]) == "[a, b]"
