"""A semidefinite program that one setting of the solver cannot finish is tried with others."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify import feasible


@pytest.fixture(scope="module")
def program(compiled):
    """A log of the PUMA whose held-out program the solver's own settings do not solve."""
    from dynamis.studio.trial_log import Trial

    puma = dy.load("puma560")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dynamis.studio.trial_log.HARMONICS", 4)
        log = Trial().log(puma, lambda _: None)
    return lambda: dy.identify(puma, log, friction="smooth", estimator="feasible")


def test_other_settings_find_what_the_first_did_not(program):
    found = program()
    assert found.is_physical
    assert found.training[0].relative_error_overall < 0.08
    assert np.isfinite(found.values).all()


def test_without_them_it_says_so():
    """A program that no setting solves."""

    class Hopeless:
        status = "none"

        def solve(self, **settings):
            raise cp.error.SolverError("no luck")

    import cvxpy as cp

    with pytest.raises(feasible.SolverError, match="no luck"):
        feasible.solved(cp, Hopeless())
