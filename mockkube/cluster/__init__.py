"""Assembly: versions and gates in, running components out; the control API."""
