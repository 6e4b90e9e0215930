"""The kubelets: admission, pod lifecycle, heartbeats of every simulated node. A fleet: thousands of them are cheap."""
