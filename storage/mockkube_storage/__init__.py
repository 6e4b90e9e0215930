"""A revisioned key-value store (the model of etcd). It knows nothing of Kubernetes. Read store.py first.

Open one with `mockkube_storage.engines.catalogue.open_store`.
"""
