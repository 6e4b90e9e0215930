"""Devices that a node offers: resource slices, pools, taints, shared capacity, and what restricts their choice."""
