"""Assembly of clusters: configuration in, running components out; the control API and the controllers behind it.

Layers, lowest first: `configuration/`; `control/` and `state/`; `execution/`, `faults/` and `snapshots/`;
`api_servers/`; `components/`; then the modules here. Read `cluster.py` first, then `control_plane.py`.
"""
