"""Label and field selectors of lists and watches. Start with `labels`."""
