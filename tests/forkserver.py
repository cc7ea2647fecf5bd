"""One fork server for all tests: it has everything imported and no thread running, so that fifty processes cost little."""

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    ["tests.storage.faults", "obstore.store", "tests.flows.processes", "flows.counting", "cccount_dist.counting.nis"]
)
