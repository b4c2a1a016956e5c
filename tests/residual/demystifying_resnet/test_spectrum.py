"""Oracle: made spectra. Sees a wrong percentile, noise counted as negative curvature, unresolved passed as known."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from resaudit.data.whiten import Moments
from residual.demystifying_resnet.networks.hessians import hessians, spectra_along, spectrum_statistics
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.networks.spectra import Spectra
from residual.demystifying_resnet.training.ensemble import initial_weights


def test_statistics_of_a_known_spectrum() -> None:
    eigenvalues = torch.tensor([-8.0, -1e-16, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0], dtype=torch.float64)
    statistics = spectrum_statistics(eigenvalues)
    assert statistics.lambda_max == 9.0
    assert statistics.lambda_p10 == pytest.approx(np.percentile(eigenvalues.abs().numpy(), 10))
    # -1e-16 lies within the noise.
    assert statistics.index == pytest.approx(1 / 11)
    assert statistics.raw_index == pytest.approx(2 / 11)
    assert statistics.sizeable_index == pytest.approx(1 / 11)
    assert statistics.noise_floor == pytest.approx(2.2e-16 * 11 * 9, rel=0.01)
    assert not statistics.resolved


def test_the_sizeable_index_counts_from_a_hundredth_of_the_largest_on() -> None:
    eigenvalues = torch.tensor([-0.99e-2, -1.01e-2, -0.5, 1.0], dtype=torch.float64)
    assert spectrum_statistics(eigenvalues).sizeable_index == 0.5
    assert spectrum_statistics(eigenvalues).index == 0.75


def test_resolved_above_the_noise_floor() -> None:
    statistics = spectrum_statistics(torch.linspace(0.5, 1.0, 50, dtype=torch.float64))
    assert statistics.resolved
    assert statistics.condition_number == pytest.approx(1.0 / 0.55)
    assert statistics.index == 0


def test_a_diverged_run_has_no_spectrum_and_spares_the_others(moments: Moments) -> None:
    network = Network(2, 2, 10)
    weights = initial_weights(network, "xavier", 0.01, 1, 3)
    weights[1, 1] = torch.inf
    spectra = spectra_along([weights], network, moments)
    assert np.isnan(spectra.index[0, 1])
    assert np.isnan(spectra.condition_number[0, 1])
    assert not spectra.resolved[0, 1]
    assert np.isfinite(spectra.condition_number[0, [0, 2]]).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("network", [Network(2, 2, 10), Network(0, 4, 10)], ids=["2-shortcut", "plain"])
def test_where_every_run_has_diverged_there_is_no_spectrum(
    network: Network, dtype: torch.dtype, moments: Moments
) -> None:
    weights = initial_weights(network, "xavier", 0.01, 1, 3).to(dtype)
    spectra = spectra_along([torch.full_like(weights, torch.inf), weights], network, moments)
    for f in fields(Spectra):
        values = getattr(spectra, f.name)
        assert values.shape == (2, 3)
        assert not values[0].any() if f.name == "resolved" else np.isnan(values[0]).all()
    assert np.isfinite(spectra.lambda_max[1]).all()


def test_a_hessian_that_overflows_has_no_spectrum_and_spares_the_others(moments: Moments) -> None:
    network = Network(0, 4, 10)
    weights = initial_weights(network, "xavier", 1.0, 1, 3).float()
    alone = spectra_along([weights[:, [0, 2]]], network, moments)
    weights[:, 1] *= 1e15
    spectra = spectra_along([weights], network, moments)
    assert np.isnan(spectra.lambda_max[0, 1])
    assert spectra.resolved[0].tolist() == [True, False, True]
    np.testing.assert_array_equal(spectra.lambda_max[0, [0, 2]], alone.lambda_max[0])


def test_batches_do_not_change_a_spectrum(moments: Moments, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(0, 4, 10)
    weights = initial_weights(network, "orthogonal", 1.0, 1, 5)
    whole = spectra_along([weights], network, moments)
    monkeypatch.setattr("residual.demystifying_resnet.networks.hessians.BYTES_AT_ONCE", 8 * 400**2 * 2)
    parts = spectra_along([weights], network, moments)
    np.testing.assert_allclose(whole.lambda_p10, parts.lambda_p10, rtol=1e-12)


def test_nonlinear_networks_have_no_closed_form(moments: Moments) -> None:
    with pytest.raises(ValueError, match="linear"):
        hessians(torch.zeros(2, 1, 10, 10, dtype=torch.float64), Network(2, 2, 10, mid="relu"), moments)
