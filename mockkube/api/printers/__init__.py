"""Server-side printing: what `kubectl get` shows of every kind, as `Table` columns and cells.

`catalogue.printer_of` is the way in for built-in kinds, `custom.custom_printer` for custom ones; `table.py` says what
a printer is. A printer is pure: it reads a decoded object and the present time. It neither filters columns (all are
sent; those of priority 1 are for `-o wide`) nor knows HTTP.
"""
