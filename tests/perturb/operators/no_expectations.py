"""Counts shards in its cache, and creates missing ones (casskop 321: a cache that lags behind its own writes)."""

from informer import CONFIG_MAPS, DATABASES, IS_FIXED, Controller

controller = Controller()
client = controller.client


def list_shards(name):
    if IS_FIXED:
        return client.request("GET", f"{CONFIG_MAPS}?labelSelector=database={name}")["items"]
    return [one for one in controller.children.list() if one["metadata"].get("labels", {}).get("database") == name]


def reconcile(name):
    database = controller.databases.get(name)
    if database is None:
        return
    for _ in range(len(list_shards(name)), database["spec"]["shards"]):
        metadata = {"generateName": f"{name}-", "labels": {"database": name}}
        client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    if database.get("status", {}).get("shards") != database["spec"]["shards"]:
        client.patch(f"{DATABASES}/{name}", {"status": {"shards": database["spec"]["shards"]}})


controller.run(reconcile)
