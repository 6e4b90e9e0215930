"""User interface: the page of a running cluster, served by its process on a port of its own.

`site` answers requests, `sessions` decides who they are from, `cluster_history` holds what the page shows, and
`stream` sends it. Everything else the page does goes through the API with the rights of its user (`api_forwarding`).
The sources of the page are in `ui/` of the repository, `make ui` writes `assets/`. Nothing here is imported before a
page is asked for.
"""
