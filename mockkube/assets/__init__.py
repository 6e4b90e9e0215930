"""Executables that stand in for etcd and kube-apiserver where envtest, kwokctl and other tools start these.

`executables` writes them, `etcd` and `kube_apiserver` are what they run. Read kube_apiserver.py first.
"""
