"""Faults, caused for real on the whole topology: what is killed, stopped, cut off or full must change no byte of the result."""
