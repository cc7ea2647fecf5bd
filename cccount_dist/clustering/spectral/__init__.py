"""IU_RED: active spectral clustering from costly, noisy similarities (Wauthier, Jojic and Jordan, KDD 2012)."""
