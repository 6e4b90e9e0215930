"""`python -m mockkube.cli`, for where the script is not on the path."""

from mockkube.cli.main import main

main()
