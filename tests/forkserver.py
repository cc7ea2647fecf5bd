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
        # What a command imports, but for `flows.commands.campaigns`: that reads which kinds of campaign there are, plug-ins too.
        "flows.commands.cli",
        "flows.stages.job",
        "flows.stages.verify",
        "flows.stages.upgrade",
        "flows.exchange.answers",
        "flows.exchange.pack",
        "flows.stages.initialise",
        "flows.stages.matches",
        "flows.compute.clients",
        "cccount_dist.kinds.cluster.runner",
        "cccount_dist.kinds.cluster.report",
        "cccount_dist.kinds.count.report",
        "cccount_dist.kinds.subcluster.runner",
        "cccount_dist.counting.placing.placing_sampler",
        "cccount_dist.clustering.evidence.evidence_sampler",
        "cccount_dist.subclustering.subcluster_sampler",
    ]
)
