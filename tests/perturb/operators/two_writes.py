"""Creates a ConfigMap and a Service, and takes the first for a sign of both (intermediate state after a crash)."""

from informer import CONFIG_MAPS, IS_FIXED, SERVICES, Controller, config_map

controller = Controller()
client = controller.client


def reconcile(name):
    if controller.databases.get(name) is None:
        return
    if client.get(f"{CONFIG_MAPS}/{name}-config") is None:
        client.create(CONFIG_MAPS, config_map(name, f"{name}-config"))
    elif not IS_FIXED:
        return
    if client.get(f"{SERVICES}/{name}") is None:
        spec = {"clusterIP": "None", "selector": {"database": name}, "ports": [{"port": 5432}]}
        client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})


controller.run(reconcile)
