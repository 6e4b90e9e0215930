"""The API server: registry (verbs on objects), admission, http (parse, call, render)."""
