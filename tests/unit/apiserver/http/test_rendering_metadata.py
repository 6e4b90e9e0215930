"""Objects reduced to their metadata."""

import orjson
import pytest

from mockkube.apiserver.http.responses.negotiation import Representation
from mockkube.apiserver.http.responses.rendering import OutputOptions, render_object
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry import creation
from mockkube.apiserver.registry.options import WriteOptions
from mockkube.apiserver.registry.registry import Registry
from mockkube.apiserver.registry.resource import RequestScope

GENERATION = "deprecated.daemonset.template.generation"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param({GENERATION: "1"}, None, id="no other"),
        pytest.param({GENERATION: "1", "mine": "yes"}, {"mine": "yes"}, id="another"),
    ],
)
async def test_metadata_alone_is_without_annotations_that_servers_hold_as_fields(
    registry: Registry, given: dict[str, str], shown: dict[str, str] | None
) -> None:
    resource, call = registry.resources["apps", "v1", "daemonsets"], RequestScope(User("u"), "lab")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    obj = resource.decode({"metadata": {"name": "d", "annotations": given}, "spec": spec}, call, "Strict")
    record = await creation.create(resource, call, obj, WriteOptions())
    alone = orjson.loads(
        render_object(resource, record, Representation(transform="PartialObjectMetadata"), OutputOptions())
    )
    row = orjson.loads(render_object(resource, record, Representation(transform="Table"), OutputOptions()))["rows"][0]
    assert alone["metadata"].get("annotations") == row["object"]["metadata"].get("annotations") == shown
    assert record.load()["metadata"]["annotations"] == given
