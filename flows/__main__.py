"""`python -m flows` is the `cccount` command. Loading it takes a moment, in which Ctrl-C is understood already."""

from flows.commands import interrupt


def main() -> None:
    from flows.commands.cli import main as command

    command()


if __name__ == "__main__":
    interrupt.run(main)
