"""Imported by the server that killed processes are forked from: it loads what a process loads at first use, compiled kernels and
pandas, so that each of a thousand starts costs milliseconds and kills fall into the work, not into imports."""

import numpy as np

import flows.serving.review
import flows.stages.campaigns
from cccount_dist import ClusterCounter
from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from storage.chain import plain_rows

_vectors = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
ClusterCounter("placing", budget=30, random_state=0).fit(_vectors, oracle=lambda u, v: u % 4 == v % 4)
plain_rows(answers_table([LoggedAnswer("a", 0, 0, 1, 1.0, "people")]))

__all__ = ["flows"]
