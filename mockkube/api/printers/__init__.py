"""Server-side printing: columns and cells of `kubectl get` for every kind.

The record of a built-in kind holds its printer, `custom.make_custom_printer` makes that of a custom resource;
`table.py` defines printers. A printer is pure: it reads a decoded object and the present time. It neither filters
columns (all are sent; those of priority 1 are for `-o wide`) nor knows HTTP.
"""
