"""Kane's equations step by step (Kane and Levinson 1983), vectors in the reference frame."""

from collections.abc import Iterator

from ...dynamics.formulations.kane import kane_terms
from .setting import (
    Raw,
    Setting,
    StepDraft,
    coordinate_torques,
    entry,
    frames_step,
    has_rotor_or_friction,
    joint_torque,
    numbered,
    plain_tree,
    rotor_and_friction,
    table_step,
)

STEPS = (
    (
        "Partial velocities",
        "What the angular velocity of link i, and the velocity of the origin of its frame, gain "
        "per unit of the rate of joint r; of joints that do not move the link they vanish. All "
        "vectors are in the reference frame.",
        (
            r"\omega_{ir} = \frac{\partial \omega_{i}}{\partial \dot{q}_{r}}",
            r"v_{ir} = \frac{\partial v_{i}}{\partial \dot{q}_{r}}",
        ),
    ),
    (
        "Velocities and accelerations",
        "Sums over the joints before the link; the rates of the partial velocities follow from how "
        "the axes turn and the origins move.",
        (
            r"\omega_{i} = \sum_{r} \omega_{ir} \, \dot{q}_{r}",
            r"v_{i} = \sum_{r} v_{ir} \, \dot{q}_{r}",
            r"\dot{\omega}_{i} = \sum_{r} \left(\omega_{ir} \, \ddot{q}_{r} + "
            r"\dot{\omega}_{ir} \, \dot{q}_{r}\right)",
            r"\dot{v}_{i} = \sum_{r} \left(v_{ir} \, \ddot{q}_{r} + \dot{v}_{ir} \, "
            r"\dot{q}_{r}\right)",
        ),
    ),
    (
        "Forces of inertia",
        "The force R that moves each link so, and its moment T about the origin of the link's "
        "frame, with mass m, first moment h and inertia I about that origin.",
        (
            r"R_{i} = m_{i} \, \dot{v}_{i} + \dot{\omega}_{i} \times h_{i} + \omega_{i} \times "
            r"\left(\omega_{i} \times h_{i}\right)",
            r"T_{i} = I_{i} \, \dot{\omega}_{i} + \omega_{i} \times \left(I_{i} \, "
            r"\omega_{i}\right) + h_{i} \times \dot{v}_{i}",
        ),
    ),
    (
        "Generalised inertia forces",
        "Their work per unit of the rate of each joint, with the opposite sign.",
        (
            r"F^{*}_{r} = -\sum_{i=r}^{n} \left(v_{ir}^{T} \, R_{i} + \omega_{ir}^{T} \, "
            r"T_{i}\right)",
        ),
    ),
    (
        "Generalised active forces",
        "The same of the weights, which act at the centres of mass.",
        (
            r"F_{r} = \sum_{i=r}^{n} \left(v_{ir}^{T} \, m_{i} \, g + \omega_{ir}^{T} \, "
            r"\left(h_{i} \times g\right)\right)",
        ),
    ),
)


def kane_steps(s: Setting) -> Iterator[StepDraft]:
    """Frames, partial velocities, motion, forces, generalised forces, torques."""
    plain_tree(s, "kane")
    yield table_step(s)
    yield frames_step(s)
    terms = kane_terms(s.chain, s.x, s.xd, s.xdd, s.fn)
    links = range(len(s.links))
    motion = (
        (r"\omega", terms.w),
        ("v", terms.v),
        (r"\dot{\omega}", terms.wd),
        (r"\dot{v}", terms.a),
    )
    parts: tuple[list[Raw], ...] = (
        [
            entry(letter, vectors[i][r], i, r, symmetric=False)
            for letter, vectors in ((r"\omega", terms.W), ("v", terms.V))
            for i in links
            for r in sorted(vectors[i])
        ],
        [raw for letter, vectors in motion for raw in numbered(letter, vectors)],
        [*numbered("R", terms.R), *numbered("T", terms.T)],
        numbered("F^{*}", terms.inertia),
        numbered("F", terms.active),
    )
    for (title, text, formulas), items in zip(STEPS, parts, strict=True):
        yield StepDraft(title, text, formulas, items)
    extra = rotor_and_friction(s)
    tree = [a + b for a, b in zip(terms.tau, extra, strict=True)]
    said = "The torques of the joints balance both: their sum is zero for every joint."
    text, formulas = joint_torque(s, said, r"\tau = -\left(F + F^{*}\right)")
    own = numbered(r"{\tau_{\mathrm{joint}}}", extra) if has_rotor_or_friction(s) else []
    yield StepDraft("Equation of motion", text, formulas, [*own, *coordinate_torques(s, tree)])
