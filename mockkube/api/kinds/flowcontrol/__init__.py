"""Kinds of flowcontrol.apiserver.k8s.io: API priority and fairness."""
