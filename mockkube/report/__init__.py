"""Reports about scenario runs and explorations: HTML pages, Markdown, tables for a terminal, JSON.

Start with `exploration_page` and `runs_page`: they give data to the templates in `templates/`. `review` renders
Markdown, `summary` tables and JSON. This package only renders: `explore/conclusions` compares orders and
`explore/replay` replays paths before a report is made.
"""
