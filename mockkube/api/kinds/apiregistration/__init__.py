"""Kinds of apiregistration.k8s.io: APIServices."""
