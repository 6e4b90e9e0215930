"""kube-controller-manager: a package per controller, each a pure decision and the writes that follow from it.

Semantics of taints and selectors are in `matching/` and `proposals/`, access to the API in `client/`. Read
`framework/controller.py` first.
"""
