"""`python -m flows` is the `cccount` command."""

from flows.cli import main

if __name__ == "__main__":
    main()
