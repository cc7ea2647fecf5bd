"""The version of cccount, said once."""

__version__ = "0.1.0"
