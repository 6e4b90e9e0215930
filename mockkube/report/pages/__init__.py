"""HTML pages, one module for each kind of report; `templates/` holds their parts."""
