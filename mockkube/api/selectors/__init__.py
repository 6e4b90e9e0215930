"""Selectors: which objects a list or a watch asks for. Start with `labels`; `fields` is the smaller sister."""
