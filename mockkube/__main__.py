"""`python -m mockkube`: the command line, where the console script is not at hand."""

from mockkube.cli.main import main

main()
