"""Patches on plain JSON: JSON patch, merge patch and strategic merge patch; their errors are in `errors`.

None of them changes the document or the patch it is given: the result shares what it can with both.
"""
