"""What an attacker would do, as tests: the short form of each is here; `make attack` runs the long one (`__main__.py`)."""
