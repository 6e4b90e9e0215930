"""The definition of `stages.kwok.x-k8s.io`: the API takes any inside, the kubelets read it."""

from typing import Final

from mockkube.api.types import Object

GROUP: Final = "kwok.x-k8s.io"
NAME: Final = f"stages.{GROUP}"
DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Stage", "listKind": "StageList", "plural": "stages", "singular": "stage"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "description": "Stage says how an object goes on from one stage of its life to the next.",
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
                "subresources": {"status": {}},
            }
        ],
    },
}
