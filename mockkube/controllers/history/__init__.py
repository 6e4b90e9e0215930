"""History of ControllerRevisions, shared by daemon sets and stateful sets."""
