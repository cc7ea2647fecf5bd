"""From groups to a census: who the individuals are, when and where they were seen, and what people say about them by hand."""
