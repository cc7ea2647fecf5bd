"""What each stage of the batch job does, on whatever cluster it is given."""
