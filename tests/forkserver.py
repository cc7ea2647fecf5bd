"""One fork server for all tests: it has everything imported and no thread running, so that fifty processes cost little."""

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "tests.storage.faults",
        "tests.flows.processes",
        "tests.faults.work",
        "obstore.store",
        "cccount_dist.kinds.count.runner",
        "flows.stages.embed",
        "flows.stages.neighbors",
        "cccount_dist.counting.nis",
    ]
)
