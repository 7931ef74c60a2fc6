"""A semidefinite program that one setting of the solver cannot finish is tried with others."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify import feasible

from .motions import arm, log_of


@pytest.fixture(scope="module")
def program(compiled):
    """A log of the PUMA whose held-out program the solver's own settings do not solve."""
    from dynamis.studio.pages.identify import Trial

    puma = dy.load("puma560")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dynamis.studio.pages.identify.HARMONICS", 4)
        log = Trial().log(puma, lambda _: None)
    return lambda: dy.identify(puma, log, friction="smooth", estimator="feasible")


@pytest.mark.thorough
def test_other_settings_find_what_the_first_did_not(program):
    found = program()
    assert found.is_physical
    assert found.training[0].relative_error_overall < 0.08
    assert np.isfinite(found.values).all()


@pytest.mark.thorough
def test_every_setting_finds_the_same(monkeypatch):
    """The solver knows each of them, and the answer is not a matter of settings."""
    found = []
    for settings in feasible.ATTEMPTS:
        monkeypatch.setattr(feasible, "ATTEMPTS", (settings,))
        found.append(dy.identify(arm(), log_of(arm()), estimator="feasible", held_out=False).values)
    for values in found[1:]:
        np.testing.assert_allclose(values, found[0], rtol=1e-3, atol=1e-4 * np.abs(found[0]).max())


def test_without_them_it_says_so():
    """A program that no setting solves."""

    class Hopeless:
        status = "none"

        def solve(self, **settings):
            raise cp.error.SolverError("no luck")

    import cvxpy as cp

    with pytest.raises(feasible.SolverError, match="no luck"):
        feasible.solved(cp, Hopeless())


def test_a_solver_that_panics_is_one_of_our_errors():
    """Numbers out of all proportion make the solver's Rust code panic: that is no Exception."""
    import cvxpy as cp

    X = cp.Variable((4, 4), PSD=True)
    cost = cp.sum_squares(X - np.eye(4)) + 1e300 * (cp.trace(X) - cp.log_det(X))
    problem = cp.Problem(cp.Minimize(cost), [1e-5 * np.eye(4) << X])
    with pytest.raises(feasible.SolverError, match="semidefinite program failed"):
        feasible.solved(cp, problem)


@pytest.mark.parametrize("prior", [-1.0, 1e300, float("inf"), float("nan"), "much"])
def test_a_prior_out_of_all_proportion_is_refused(prior):
    robot = arm()
    with pytest.raises(
        OptionError, match=r"prior is .*, expected (rows of data, from 0 to 1e\+12|a number)"
    ):
        dy.identify(robot, log_of(robot), prior=prior)
