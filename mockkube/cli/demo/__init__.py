"""`mockkube demo`: an example that plays itself, in the terminal and on the page. Read `guide.py` first."""
