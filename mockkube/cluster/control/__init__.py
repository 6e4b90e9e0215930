"""The control API: a cluster's own parts as resources, so that kubectl is the remote control.

Not the acting upon them, which is `cluster/fleet.py`. Read `plane` first: a registry of its own over a store of its
own; `definitions` says what the kinds hold, and each has a module that says what may be asked of it and how
it is shown.
"""
