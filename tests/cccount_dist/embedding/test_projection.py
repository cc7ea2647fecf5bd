"""Centring and principal components, against a plain computation in memory."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.embedding import projection
from cccount_dist.embedding.projection import Projection, fit, projection_for
from storage.arrays import JSON
from storage.collection import collection_table
from storage.errors import CorruptionError, InputError
from storage.schema import ENCODED
from storage.workspace import Workspace

ATTRIBUTES: dict[str, JSON] = {"encoder": "test", "revision": "1", "components": 3}


def workspace_with(folder: Path, vectors: NDArray[np.float32]) -> Workspace:
    workspace = Workspace.create(folder / "w", collection_table([str(i) for i in range(len(vectors))]))
    array = workspace.create_array(ENCODED, vectors.shape, attributes={})
    for shard in range(array.shards):
        start, stop = array.shard_range(shard)
        array.write_shard(shard, vectors[start:stop])
    return workspace


def correlated(items: int = 700) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(items, 8)) * [9, 5, 3, 1, 1, 1, 0.5, 0.1] @ rng.normal(size=(8, 8)) + 20).astype(np.float32)


def test_the_components_are_those_of_a_singular_value_decomposition(tmp_path: Path) -> None:
    vectors = correlated()
    vectors[[5, 400]] = np.nan
    fitted = fit(workspace_with(tmp_path, vectors).array(ENCODED), ATTRIBUTES)
    sound = np.delete(vectors, [5, 400], axis=0).astype(np.float64)
    np.testing.assert_allclose(fitted.mean, sound.mean(axis=0), rtol=1e-5)
    _, _, directions = np.linalg.svd(sound - sound.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(fitted.basis.T @ directions[:3].T), np.eye(3), atol=1e-3)
    projected = fitted.apply(vectors)
    assert np.isnan(projected[[5, 400]]).all()
    np.testing.assert_allclose(np.nanmean(projected, axis=0), 0, atol=1e-3)


def test_a_large_collection_is_fitted_on_evenly_spaced_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = correlated()
    array = workspace_with(tmp_path, vectors).array(ENCODED)
    monkeypatch.setattr(projection, "SAMPLE", 100)
    np.testing.assert_allclose(fit(array, ATTRIBUTES).mean, vectors[::7].mean(axis=0), rtol=1e-4)


def test_a_stored_projection_is_used_again_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, correlated())
    mine = Projection(np.zeros(8, np.float32), np.eye(8, 3, dtype=np.float32), ATTRIBUTES)
    first = projection_for(workspace, ATTRIBUTES)
    projection.save_projection(workspace.objects, mine)
    assert projection_for(workspace, ATTRIBUTES).digest() == mine.digest() != first.digest()
    assert projection_for(workspace, {**ATTRIBUTES, "components": 2}).basis.shape == (8, 2)
    (tmp_path / "w/projection.npz").write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(CorruptionError, match=r"projection\.npz is damaged"):
        projection_for(workspace, ATTRIBUTES)


def test_more_components_than_there_can_be_are_refused(tmp_path: Path) -> None:
    array = workspace_with(tmp_path, correlated(6)).array(ENCODED)
    for components in (0, 9):
        with pytest.raises(InputError, match="from 1 to 8"):
            fit(array, {**ATTRIBUTES, "components": components})
    with pytest.raises(InputError, match="more than 6 items"):
        fit(array, {**ATTRIBUTES, "components": 6})


@pytest.mark.parametrize("rows", [1, 7, 255, 256, 257, 301])
def test_a_row_is_projected_to_the_same_bits_however_many_follow_it(rows: int) -> None:
    random = np.random.default_rng(3)
    vectors = random.standard_normal((341, 1024)).astype(np.float32)
    vectors[5] = np.nan
    mine = Projection(vectors[6], random.standard_normal((1024, 8)).astype(np.float32), ATTRIBUTES)
    whole = mine.apply(vectors)
    np.testing.assert_array_equal(mine.apply(vectors[:rows]), whole[:rows])
    np.testing.assert_allclose(whole, (vectors - vectors[6]).astype(np.float64) @ mine.basis, rtol=1e-3, atol=1e-3)
