"""A kopf operator that creates two objects, and fails for ever if one exists already (timeout after effect)."""

import os

import kopf
from informer import CONFIG_MAPS, ApiError, Client, config_map

IS_FIXED = os.environ.get("OPERATOR") == "fixed"
client = Client()


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False


@kopf.on.create("example.com", "v1", "databases", backoff=1)
def create(name, body, **_):
    for suffix in ("config", "data"):
        obj = config_map(name, f"{name}-{suffix}")
        kopf.adopt(obj, owner=body)
        try:
            client.create(CONFIG_MAPS, obj)
        except ApiError as error:
            if not IS_FIXED or error.status != 409:
                raise
