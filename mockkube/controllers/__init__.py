"""kube-controller-manager: one module per controller, each a pure decision and a thin hand.

Not here: what matches what (`matching/`, `proposals/`), nor how the API is reached (`client/`). Read
`controller.py` first.
"""
