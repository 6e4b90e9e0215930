"""daemonset-controller."""
