"""Entry point of `python -m mockkube.cli`, where the script is not on the path."""

from mockkube.cli.main import main

main()
