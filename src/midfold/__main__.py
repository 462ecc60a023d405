"""`python -m midfold` is the command line."""

from midfold.cli.main import main

main()
