"""Assembly of clusters: configuration in, running components out; the control API and the controllers behind it.

Layers, lowest first: `configuration/`, `state/` and `control/`, `faults/`, `api_servers/`, `execution/` and
`snapshots/`, `components/`, then the modules here. Read `cluster.py` first, then `control_plane.py`.
"""
