"""kube-controller-manager: one package per controller, each with pure decisions and the writes that follow from them.

Semantics of taints and selectors are in `matching/` and `proposals/`, access to the API is in `client/`. Read
`framework/controller.py` first.
"""
