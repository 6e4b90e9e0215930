"""Revisioned key-value store with the data model of etcd. It knows nothing of Kubernetes.

Read store.py first. Open a store with `mockkube_storage.engines.catalogue.open_store`.
"""
