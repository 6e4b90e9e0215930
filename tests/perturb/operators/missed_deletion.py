"""Deletes the data of a database when it sees that its deletion has begun (cassandra-operator 398, observability gap).

If it misses that state, because it sees the database again only when it is gone, the data stays for ever.
"""

from informer import CONFIG_MAPS, DATABASES, IS_FIXED, Controller, config_map

controller = Controller()
client = controller.client


def reconcile(name):
    # The cache tells when to look; what is true, only the API server knows.
    database = client.get(f"{DATABASES}/{name}") if IS_FIXED else controller.databases.get(name)
    if database is None:
        if IS_FIXED:
            client.delete(f"{CONFIG_MAPS}/{name}-data")
        return
    if "deletionTimestamp" in database["metadata"]:
        client.delete(f"{CONFIG_MAPS}/{name}-data")
    elif controller.children.get(f"{name}-data") is None and client.get(f"{CONFIG_MAPS}/{name}-data") is None:
        client.create(CONFIG_MAPS, config_map(name, f"{name}-data"))


controller.run(reconcile)
