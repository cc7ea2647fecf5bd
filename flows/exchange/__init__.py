"""What comes from and goes to other tools: files of answers, packs, Label Studio, gold pairs."""
