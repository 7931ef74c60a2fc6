"""Dynamics of a Robot:  M(q) qdd + C(q, qd) qd + g(q) + friction(qd) + J_tool^T wrench = tau."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, is_word, known_options
from ..compile import arrays as door
from ..compile.columns import by_columns, too_large
from ..compile.kernels import FORWARD_METHODS, INVERSE_METHODS, RECURSIONS
from ..errors import OptionError, ShapeError, SingularError, did_you_mean, shown
from ..model.parameters import Parameters, parameter_names, parameter_values
from .calls import Calls, fast, finished

if TYPE_CHECKING:
    from ..base import BaseParameters
    from ..dynamics.gibbs_appell import GibbsAppell
    from ..dynamics.lagrange_euler import LagrangeEuler

COMPILED_FORWARD = ("walker-orin-3", "articulated-body")


class DynamicMethods(Calls):
    """Torques, accelerations, energies, derivatives and parameters."""

    @fast
    def inverse_dynamics(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        method: str = "newton-euler",
        wrench: Any = None,
        base_motion: Any = None,
        **options: Any,
    ) -> np.ndarray:
        """tau = M qdd + C qd + g + friction + J^T wrench, (..., n).

        `wrench` (..., 6): forces then moments the tool exerts on the world, in the tool frame.
        `base_motion` (..., 9): angular velocity, angular acceleration, linear acceleration of the
        base, in the reference frame. Methods: newton-euler (compiled), newton-euler-base,
        lagrange-euler, gibbs-appell.
        """
        _known(method, INVERSE_METHODS, "inverse dynamics method")
        arguments = {"q": q, "qd": qd, "qdd": qdd}
        extra = {"wrench": wrench, "base_motion": base_motion}
        given = {name: value for name, value in extra.items() if value is not None}
        if "base_motion" in given and method not in RECURSIONS:
            raise OptionError(
                f"method {method!r} does not take base_motion",
                f"use one of {', '.join(RECURSIONS)}",
            )
        arguments |= given
        if method == "newton-euler":
            return self._call(":".join(("inverse_dynamics", *given)), arguments, options)
        from ..dynamics import equation

        function = partial(equation.inverse_dynamics, method=method)
        return self._generic(function, arguments, (self.n,), options)

    @fast
    def forward_dynamics(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        method: str | None = None,
        wrench: Any = None,
        **options: Any,
    ) -> np.ndarray:
        """qdd from torques, (..., n); a singular mass matrix raises and names the joint.

        Methods: None picks the cheapest by operation count; walker-orin-1, -2, -3, -4,
        articulated-body.
        """
        if method is not None:
            _known(method, FORWARD_METHODS, "forward dynamics method")
        if method == "articulated-body":
            self._refuse_coupling(method)
        arguments = {"q": q, "qd": qd, "tau": tau}
        if wrench is not None:
            arguments["wrench"] = wrench
        if method is None or method in COMPILED_FORWARD:
            name = "forward_dynamics" if wrench is None else "forward_dynamics:wrench"
            chosen = {} if method is None else {"method": method}
            qdd = self._call(name, arguments, options, **chosen)
        else:
            from ..dynamics import equation

            function = partial(equation.forward_dynamics, method=method)
            qdd = self._generic(function, arguments, (self.n,), options)
        if method == "walker-orin-4" or not np.isfinite(qdd).all():
            self._refuse_singular(q)
        return qdd

    def _refuse_coupling(self, method: str) -> None:
        c = self.chain
        if c.coupling is not None or any(motor.coupled for motor in c.motors):
            raise OptionError(
                f"robot {self.model.name!r} couples its joints (mimic joints, a gear matrix or "
                f"full rotors), which method {method!r} cannot follow",
                "use method=None or a walker-orin method",
            )

    def _refuse_singular(self, q: Any) -> None:
        """Name the joint and the sample that make the mass matrix singular, if any does."""
        from ..dynamics import equation

        pivots = self._generic(equation.pivots, {"q": q}, (self.n,), {})
        finite = np.isfinite(np.asarray(q, dtype=float)).all(axis=-1)
        bad = np.isnan(pivots) & np.asarray(finite)[..., None]
        if not bad.any():
            return
        *sample, _ = (int(i[0]) for i in np.nonzero(bad))
        joint = int(np.flatnonzero(bad[tuple(sample)])[-1])
        where = f" (sample {tuple(sample)})" if sample else ""
        raise SingularError(
            f"robot {self.model.name!r} has a singular mass matrix at joint "
            f"{self.model.joint_names[joint]!r} (joint {joint + 1}){where}: nothing resists its "
            "acceleration",
            "give the links it moves an inertia about its axis, or the joint a rotor inertia",
        )

    @fast
    def mass_matrix(self, q: Any, **options: Any) -> np.ndarray:
        """M(q), reflected rotors included, (..., n, n)."""
        if too_large("mass_matrix", self.n):
            return by_columns(self, "mass_matrix", {"q": q}, options)
        return self._call("mass_matrix", {"q": q}, options)

    @fast
    def coriolis_matrix(self, q: Any, qd: Any, **options: Any) -> np.ndarray:
        """C(q, qd) with Mdot - 2C skew, (..., n, n)."""
        arguments = {"q": q, "qd": qd}
        if too_large("coriolis_matrix", self.n):
            return by_columns(self, "coriolis_matrix", arguments, options)
        return self._call("coriolis_matrix", arguments, options)

    @fast
    def gravity_torque(self, q: Any, **options: Any) -> np.ndarray:
        """g(q), without friction offsets, (..., n)."""
        return self._call("gravity_torque", {"q": q}, options)

    @fast
    def friction_torque(self, qd: Any, **options: Any) -> np.ndarray:
        """Friction of joints and motors, on the joint side, (..., n)."""
        return self._call("friction_torque", {"qd": qd}, options)

    @fast
    def kinetic_energy(self, q: Any, qd: Any, **options: Any) -> np.ndarray:
        """Kinetic energy with the reflected rotors, (...,)."""
        return self._call("kinetic_energy", {"q": q, "qd": qd}, options)

    @fast
    def potential_energy(self, q: Any, **options: Any) -> np.ndarray:
        """Potential energy, zero at the reference origin, (...,)."""
        return self._call("potential_energy", {"q": q}, options)

    @fast
    def momentum(self, q: Any, qd: Any, **options: Any) -> np.ndarray:
        """Linear then angular momentum of the links about the reference origin, (..., 6)."""
        return self._call("momentum", {"q": q, "qd": qd}, options)

    def operational_inertia(self, q: Any, **options: Any) -> np.ndarray:
        """(J M^-1 J^T)^-1 of the tool in base axes, (..., 6, 6).

        Directions in which the tool cannot move get zero (pseudo-inverse).
        """
        J, M = self.jacobian(q), self.mass_matrix(q)  # type: ignore[attr-defined]
        self._refuse_singular(q)
        with np.errstate(invalid="ignore"):
            mobility = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))
        known = np.isfinite(mobility).all(axis=(-1, -2), keepdims=True)
        inertia = np.linalg.pinv(np.where(known, mobility, 0.0), rcond=1e-10, hermitian=True)
        return finished(np.where(known, inertia, np.nan), options)

    def torque_terms(self, q: Any, qd: Any, qdd: Any, **options: Any) -> dict[str, np.ndarray]:
        """Inertial, Coriolis-centrifugal, gravity and friction parts of the torque, by name.

        `out` is a dictionary of arrays by the same names.
        """
        zero = np.zeros(self.n)
        gravity = self.gravity_torque(q)
        resist = self.friction_torque(qd)
        moving = self.inverse_dynamics(q, qd, zero)
        inertial = self.inverse_dynamics(q, qd, qdd) - moving
        parts = np.broadcast_arrays(inertial, moving - gravity - resist, gravity, resist)
        names = ("inertial", "coriolis", "gravity", "friction")
        own = dict.fromkeys(names) if options.get("out") is None else options["out"]
        if not isinstance(own, Mapping) or set(own) != set(names):
            raise ShapeError(f"out is {shown(own)}, expected a dictionary of {', '.join(names)}")
        rest = {key: value for key, value in options.items() if key != "out"}
        return {
            name: finished(np.array(part), {**rest, "out": own[name]})
            for name, part in zip(names, parts, strict=True)
        }

    @fast
    def motor_torque(self, q: Any, qd: Any, qdd: Any, **options: Any) -> np.ndarray:
        """Torque of every motor, behind the gears and with their efficiency, (..., n)."""
        for link, motor in zip(self.model.links, self.chain.motors, strict=True):
            if motor.gear == 0.0:
                raise OptionError(
                    f"joint {link.joint_name!r} has gear 0: its motor torque is not defined"
                )
            if link.mimic is not None:
                raise OptionError(
                    f"joint {link.joint_name!r} mimics {link.mimic[0]!r}: which motor carries it "
                    "is not defined",
                    "lock it when loading",
                )
        return self._call("motor_torque", {"q": q, "qd": qd, "qdd": qdd}, options)

    @fast
    def inverse_dynamics_derivatives(
        self, q: Any, qd: Any, qdd: Any, **options: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(dtau_dq, dtau_dqd, dtau_dqdd), exact, each (..., n, n)."""
        name, arguments = "inverse_dynamics_derivatives", {"q": q, "qd": qd, "qdd": qdd}
        if too_large(name, self.n):
            return by_columns(self, name, arguments, options)
        return self._call(name, arguments, options)

    @fast
    def forward_dynamics_derivatives(
        self, q: Any, qd: Any, tau: Any, **options: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(dqdd_dq, dqdd_dqd, dqdd_dtau), through M^-1, each (..., n, n)."""
        name, arguments = "forward_dynamics_derivatives", {"q": q, "qd": qd, "tau": tau}
        if too_large(name, self.n):
            qdd = self.forward_dynamics(q, qd, tau)
            dq, dqd, M = self.inverse_dynamics_derivatives(q, qd, qdd, **options)
            inverse = np.linalg.inv(M)
            return -inverse @ dq, -inverse @ dqd, inverse
        results = self._call(name, arguments, options)
        if not all(np.isfinite(r).all() for r in results):
            self._refuse_singular(q)
        return results

    def lagrange_euler(self, q: Any, qd: Any, qdd: Any) -> "LagrangeEuler":
        """Lagrange-Euler's tables at one state: .A .U .UU .J .D .h .H .C .tau, as arrays.

        Of the links alone: no friction, no rotors.
        """
        from ..dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms

        x, xd, xdd = (v.tolist() for v in self._one_state(q, qd, qdd))
        terms = lagrange_euler_terms(self.chain, x, xd, xdd, door.MATH)
        size = range(self.n)
        zero = ((0.0,) * 4,) * 4
        U = [[terms.U[i][j] or zero for j in size] for i in size]
        UU = [[[terms.UU[i][j][k] or zero for k in size] for j in size] for i in size]
        return LagrangeEuler(*(np.array(x) for x in terms._replace(U=U, UU=UU)))

    def gibbs_appell(self, q: Any, qd: Any, qdd: Any) -> "GibbsAppell":
        """Document 003's results at one state: .W .phi .tau, and .G .C .M extracted from W.

        Of the links alone: no friction, no rotors.
        """
        from ..dynamics.gibbs_appell import GibbsAppell, gibbs_appell_terms

        x, xd, xdd = (v.tolist() for v in self._one_state(q, qd, qdd))
        terms = gibbs_appell_terms(self.chain, x, xd, xdd, door.MATH)
        return GibbsAppell(*(np.array(x) for x in terms))

    def _one_state(self, *state: Any) -> list[np.ndarray]:
        """Checked q, qd, qdd of one sample, for tables that are not made in batches."""
        arrays = self._arrays(dict(zip(("q", "qd", "qdd"), state, strict=True)))
        for name, value in zip(("q", "qd", "qdd"), arrays, strict=True):
            if value.ndim != 1:
                raise OptionError(f"{name} has shape {value.shape}, expected one state ({self.n},)")
        if self.chain.coupling is not None:
            raise OptionError("these tables are for robots without coupled joints")
        return arrays

    @property
    def parameters(self) -> Parameters:
        """Every linear parameter: .names, .values; in the user's frames."""
        values = np.array(parameter_values(self.model, self.chain))
        return Parameters(parameter_names(self.model), values)

    @checked
    def base_parameters(self, inertial_only: bool = False, **options: Any) -> "BaseParameters":
        """The fewest combinations the torques depend on: .rank, .names, .values, .regressor(...).

        `inertial_only` leaves friction and drives out; `tolerance` is that of the numeric rank.
        """
        from ..base import base_parameters

        return base_parameters(self, inertial_only, **known_options(options, ("tolerance",)))

    @fast
    def regressor(
        self, q: Any, qd: Any, qdd: Any, qd_ref: Any = None, **options: Any
    ) -> np.ndarray:
        """Y with Y @ parameters.values = inverse_dynamics, (..., n, p).

        With `qd_ref`: columns of M qdd + C(q, qd) qd_ref + g, with Mdot - 2C skew; those of
        friction are zero, as it is not part of that sum.
        """
        arguments = {"q": q, "qd": qd, "qdd": qdd}
        name = "regressor"
        if qd_ref is not None:
            arguments["qd_ref"], name = qd_ref, "regressor:qd_ref"
        parameter_names(self.model)  # raises for a centre of mass that moves in its link
        if too_large(name, self.n):
            return by_columns(self, name, arguments, options)
        return self._call(name, arguments, options)


def _known(name: Any, known: Any, what: str) -> None:
    if not is_word(name, known):
        raise OptionError(f"{what} {shown(name)} does not exist", did_you_mean(name, known))
