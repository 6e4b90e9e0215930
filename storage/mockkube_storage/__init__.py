"""A revisioned key-value store (the model of etcd). It knows nothing of Kubernetes. Read store.py first."""
