"""One thread for sums, also in libraries that were loaded since the last time."""

import subprocess
import sys

SCRIPT = """
import numpy as np
from threadpoolctl import threadpool_info
from cccount_dist.similarity.threads import one_thread

def most():
    return {one["filepath"]: one["num_threads"] for one in threadpool_info()}

with one_thread():
    known = most()
    assert set(known.values()) == {1}, known
import scipy.linalg, sklearn.cluster
before = most()
assert set(before) > set(known), "nothing new was loaded: this shows nothing"
with one_thread():
    assert set(most().values()) == {1}, most()
assert most() == before
"""


def test_libraries_that_were_loaded_later_are_limited_too_and_all_get_their_threads_back() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
