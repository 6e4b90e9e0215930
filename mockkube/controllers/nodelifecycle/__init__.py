"""node-lifecycle-controller: health, taints and zones of nodes."""
