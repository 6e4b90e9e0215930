"""Load scenario files and play them. Start with `scenario_runner`."""
