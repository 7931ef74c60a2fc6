"""dy.compile(robot, function, sizes=None): machine code of a function of one's own.

`function(arm, q, ...)` is called once, with symbols. Its first parameter is the arm, the others are
vectors as long as q; `sizes={"weight": 1}` gives another length, and a scalar is then `weight[0]`.
It returns one result: a scalar, a list, or rows of a matrix. What dy.compile gives back takes
arrays and broadcasts over samples like every method of a Robot, with out=, threads= and dtype=:

    def power(arm, q, qd, weight):
        tau = arm.gravity_torque(q)
        return weight[0] * sum(t * v for t, v in zip(tau, qd))

    robot = dy.load("planar-rr")
    call = dy.compile(robot, power, sizes={"weight": 1})
    call([0.3, 0.2], [1.0, -1.0], [0.5])                    # one number
    call(np.zeros((1000, 2)), np.ones((1000, 2)), [0.5])    # (1000,)

The arm has inverse_dynamics, forward_dynamics, mass_matrix, coriolis_matrix, gravity_torque,
friction_torque, spring_torque, regressor, fk, jacobian, jacobian_dot, kinetic_energy,
potential_energy and solve(M, b) of one sample, and the elementary functions sin, cos, sqrt, exp,
log, tanh, atan2, floor, sign, min, max and select(condition, a, b), which replaces `if`.

The modules below are how this and the methods of a Robot are compiled: trace, kernels, the compile
service, arrays, LLVM.
"""

from ..lazy import callable_package

callable_package(__name__, ".robot.user_function", "compile_function")
