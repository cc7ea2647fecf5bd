"""Images in, vectors out: readers and encoders."""
