"""People who answer: what each is shown next, what they said, and how far it can be relied on."""
