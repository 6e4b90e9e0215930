"""A kopf operator that creates a ConfigMap under a random name, and forgets it when killed (leak after a crash)."""

import os
import uuid

import kopf
from informer import CONFIG_MAPS, ApiError, Client, config_map

IS_FIXED = os.environ.get("OPERATOR") == "fixed"
client = Client()


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False


@kopf.on.create("example.com", "v1", "databases", backoff=1)
def create(name, body, **_):
    suffix = "data" if IS_FIXED else uuid.uuid4().hex[:6]
    obj = config_map(name, f"{name}-{suffix}")
    kopf.adopt(obj, owner=body)
    try:
        client.create(CONFIG_MAPS, obj)
    except ApiError as error:
        if error.status != 409:
            raise
