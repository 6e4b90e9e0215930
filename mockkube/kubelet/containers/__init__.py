"""Containers as a kubelet simulates them: behavior, lifecycle, restarts, images."""
