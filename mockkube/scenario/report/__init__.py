"""What scenarios and explorations found out, shown to people: one HTML file, tables, an answer to a review.

`exploration` and `runs` make the pages, `timeline` and `drawing` the lanes in them, `page` what all pages share;
`summary` and `review` are for terminals and pull requests. Nothing is decided here.
"""
