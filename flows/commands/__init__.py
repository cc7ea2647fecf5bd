"""The commands of `cccount`, a room for each thing that a user wants to do (`flows/commands/cli.py` puts them together)."""
