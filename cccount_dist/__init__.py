"""The science of cccount: encoders, similarity, constraints, samplers, estimators, campaigns, reports."""
