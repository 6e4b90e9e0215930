"""Patches: JSON patch, merge patch and strategic merge patch, on plain JSON; what a patch answers is in `errors`.

None of them changes the document or the patch it is given: the result shares what it can with both.
"""
