"""Writes the status of a database by the version in its cache, and repeats a conflict at once, for ever (hot loop)."""

import time

from informer import DATABASES, IS_FIXED, ApiError, Controller

controller = Controller()
client = controller.client


def reconcile(name):
    database = controller.databases.get(name)
    if database is None or database.get("status", {}).get("size") == database["spec"]["size"]:
        return
    while True:
        try:
            client.update(DATABASES, {**database, "status": {"size": database["spec"]["size"]}})
            return
        except ApiError as error:
            if error.status != 409:
                raise
            if IS_FIXED:
                database = client.get(f"{DATABASES}/{name}")
                if database is None:
                    return
                continue
        time.sleep(0.01)


controller.run(reconcile)
