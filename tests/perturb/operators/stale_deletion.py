"""Deletes the data of a database that is being deleted, by the name in its cache (cassandra-operator 402, time travel).

After a restart the cache may show the deletion of an earlier database of this name, whose successor has the data.
"""

from informer import CONFIG_MAPS, DATABASES, IS_FIXED, Controller, config_map

FINALIZER = "example.com/data"
controller = Controller()
client = controller.client


def reconcile(name):
    # The cache tells when to look; what is true, only the API server knows.
    database = client.get(f"{DATABASES}/{name}") if IS_FIXED else controller.databases.get(name)
    if database is None:
        return
    metadata = database["metadata"]
    if "deletionTimestamp" in metadata:
        client.delete(f"{CONFIG_MAPS}/{name}-data")
        if FINALIZER in metadata.get("finalizers", ()):
            client.update(DATABASES, {**database, "metadata": {**metadata, "finalizers": []}})
        return
    if FINALIZER not in metadata.get("finalizers", ()):
        client.update(DATABASES, {**database, "metadata": {**metadata, "finalizers": [FINALIZER]}})
        return
    if controller.children.get(f"{name}-data") is None and client.get(f"{CONFIG_MAPS}/{name}-data") is None:
        client.create(CONFIG_MAPS, config_map(name, f"{name}-data"))


controller.run(reconcile)
