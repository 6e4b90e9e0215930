"""Copies the size of a database into a ConfigMap, and takes a conflict for somebody else's problem.

It looks again only when the database changes: what the other client has done to the ConfigMap does not wake it.
"""

from informer import CONFIG_MAPS, IS_FIXED, ApiError, Controller, config_map

controller = Controller(owner_of=lambda obj: None)
client = controller.client


def reconcile(name):
    database = controller.databases.get(name)
    if database is None:
        return
    wanted = {"size": str(database["spec"]["size"])}
    current = client.get(f"{CONFIG_MAPS}/{name}-size")
    if current is None:
        client.create(CONFIG_MAPS, config_map(name, f"{name}-size", wanted))
    elif current.get("data") != wanted:
        try:
            client.update(CONFIG_MAPS, {**current, "data": wanted})
        except ApiError as error:
            if IS_FIXED or error.status != 409:
                raise


controller.run(reconcile)
