"""The one idea of a campaign: its kinds, its options, the runner that advances it, what a program or a person does with it."""
