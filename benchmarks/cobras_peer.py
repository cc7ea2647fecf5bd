"""COBRAS as its authors publish it (PyPI `cobras-ts` 0.1.3), for `benchmarks.grouping_peers --cobras PYTHON`.

Runs in an interpreter of its own, because the package needs an old numpy (CONTRIBUTING: never in ours):

    python3.11 -m venv cobras && cobras/bin/pip install numpy==1.23.5 scipy==1.10.1 scikit-learn==1.2.2
    cobras/bin/pip install --no-deps cobras-ts==0.1.3

Its page for people wants bokeh and tornado when it is imported; it is not used here, so an empty module stands in its place.
"""

import contextlib
import io
import sys
import types
import warnings

import numpy as np

if __name__ == "__main__":
    sys.modules["cobras_ts.querier"] = types.ModuleType("cobras_ts.querier")
    from cobras_ts.cobras_kmeans import COBRAS_kmeans  # type: ignore[import-not-found]

    class Labels:
        """Who answers."""

        def query_points(self, u: int, v: int) -> bool:
            return bool(y[u] == y[v])

        def continue_cluster_process(self) -> bool:
            return True

        def update_clustering(self, _clustering: object) -> None:
            """Nobody looks."""

        def update_clustering_detailed(self, _clustering: object) -> None:
            """Nobody looks."""

    source, target = sys.argv[1:]
    with np.load(source) as given:
        x, y, budget, seed = given["x"].astype(float), given["y"], int(given["budget"]), int(given["seed"])
    np.random.seed(seed)  # noqa: NPY002  the package draws from numpy's global generator
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        found = COBRAS_kmeans(x, Labels(), budget).cluster()[0]
    np.save(target, np.asarray(found.construct_cluster_labeling()))
