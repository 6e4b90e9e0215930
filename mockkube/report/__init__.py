"""Reports about scenario runs, explorations and rehearsals: HTML pages, Markdown, tables for a terminal, JSON.

Start with `pages/`: its modules give data to the templates in `templates/` through `environment`. `sentences/` holds
the words, `drawing/` what pictures show. `review` renders Markdown, `summary` tables and JSON. This package only
renders: `explore/conclusions` compares orders and `explore/replay` replays paths before a report is made.
"""
