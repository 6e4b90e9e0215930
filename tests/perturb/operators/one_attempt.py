"""Creates the settings of a database, through a webhook that labels them; broken: a failed attempt is the last one.

Without the webhook (failurePolicy Ignore) the settings stay without their label, which the fixed version repairs.
"""

import os

import informer
import webhook

IS_IGNORED = os.environ.get("FAILURE_POLICY") == "Ignore"
controller = informer.Controller()
given_up = set()


def reconcile(name):
    """Create the settings of a database; repair them in the fixed version."""
    path = f"{informer.CONFIG_MAPS}/{name}-settings"
    if controller.databases.get(name) is None or name in given_up:
        return
    present = controller.client.get(path)
    if present is None:
        try:
            present = controller.client.create(informer.CONFIG_MAPS, informer.config_map(name, f"{name}-settings"))
        except informer.ApiError:
            if informer.IS_FIXED:
                raise
            given_up.add(name)
            return
    if informer.IS_FIXED and "checked" not in present["metadata"]["labels"]:
        controller.client.patch(path, {"metadata": {"labels": {"checked": "yes"}}})


webhook.serve(controller.client, "Ignore" if IS_IGNORED else "Fail")
controller.run(reconcile)
