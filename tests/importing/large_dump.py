"""Large dump of a cluster at rest, as `kubectl get -A` prints it: nodes, Deployments with ReplicaSets and pods."""

import copy
import json
import sys
from collections.abc import Iterator
from typing import Any

from tests.importing import realistic

PODS_OF_DEPLOYMENT = 10


def make_objects(nodes: int, total: int) -> Iterator[dict[str, Any]]:
    """Yield this many nodes, and as many other objects as make up the total."""
    for number in range(nodes):
        yield realistic.make_node(f"node-{number}")
    template = list(realistic.make_deployment("generated", "default", PODS_OF_DEPLOYMENT))
    count = nodes
    number = 0
    while count < total:
        for obj in template[: total - count]:
            text = json.dumps(obj).replace("generated", f"app-{number}")
            yield json.loads(text.replace("NODE", f"node-{number % nodes}"))
            count += 1
        number += 1


def main() -> None:
    """Print the dump as JSON."""
    nodes, total = int(sys.argv[1]), int(sys.argv[2])
    items = [copy.copy(obj) for obj in make_objects(nodes, total)]
    print(
        json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}, indent=4)
    )


if __name__ == "__main__":
    main()
