"""Controllers of namespaces: deletion, and the default objects of every namespace."""
