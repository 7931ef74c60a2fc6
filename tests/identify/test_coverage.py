"""Intervals hold what they promise: arms drawn, logged, identified and predicted."""

import numpy as np
import pytest

from .coverage import case

CASES = 12  # of each estimator; 1000 by `python -m tests.identify.coverage --count 1000`


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", ["weighted", "feasible"])
def test_the_error_of_the_true_arm_is_within_what_samples_predict(compiled, estimator):
    """95 % of intervals of 95 %, and deviations of estimates as large as they are stated."""
    cases = [case(seed, estimator) for seed in range(CASES)]
    assert np.mean([x.held for x in cases]) >= 0.88
    # below 1: what scatter adds is never negative
    assert 0.6 < np.mean([x.distance for x in cases]) < 1.25
    assert np.median([x.width for x in cases]) < 0.1
