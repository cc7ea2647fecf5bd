"""Questions, answers, samplers, replay, constraints, oracles."""
