"""Server-side printing: columns and cells of `kubectl get` for every kind.

`catalogue.printer_of` returns the printer of a built-in kind, `custom.custom_printer` that of a custom one;
`table.py` defines printers. A printer is pure: it reads a decoded object and the present time. It neither filters
columns (all are sent; those of priority 1 are for `-o wide`) nor knows HTTP.
"""
