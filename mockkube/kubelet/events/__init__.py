"""Events that kubelets record, one recorder per node."""
