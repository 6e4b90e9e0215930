"""The type the walks are tried on: a small kind with every sort of list and map."""

import pytest

from mockkube.api.managed_fields.types import DEDUCED, ListType, MapType, Scalar, Type

STRING, NUMBER = Type(scalar=Scalar.STRING), Type(scalar=Scalar.NUMERIC)
LABELS = Type(map=MapType(element=STRING))
CONTAINER = Type(
    map=MapType({"name": STRING, "image": STRING, "args": Type(list=ListType(STRING)), "resources": LABELS})
)
PORT = Type(map=MapType({"port": NUMBER, "protocol": STRING, "name": STRING}))
SPEC = Type(
    map=MapType(
        {
            "replicas": NUMBER,
            "paused": Type(scalar=Scalar.BOOLEAN),
            "selector": Type(map=MapType(element=STRING, atomic=True)),
            "containers": Type(list=ListType(CONTAINER, atomic=False, keys=("name",))),
            "ports": Type(
                list=ListType(PORT, atomic=False, keys=("port", "protocol"), key_defaults={"protocol": "TCP"})
            ),
            "tolerations": Type(list=ListType(DEDUCED)),
            "any": DEDUCED,
        }
    )
)
METADATA = Type(
    map=MapType(
        {
            "name": STRING,
            "namespace": STRING,
            "uid": STRING,
            "resourceVersion": STRING,
            "labels": LABELS,
            "annotations": LABELS,
            "finalizers": Type(list=ListType(STRING, atomic=False)),
        }
    )
)
THING = Type(
    map=MapType(
        {"apiVersion": STRING, "kind": STRING, "metadata": METADATA, "spec": SPEC, "data": LABELS, "status": SPEC}
    )
)


@pytest.fixture(scope="session")
def thing() -> Type:
    return THING
