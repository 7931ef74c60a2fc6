@APPROACH@

@NEAR@

/* from the home configuration to where the drives are, little by little */
static void @NAME@(const @T@ *q, const @T@ *qd, @T@ *state)
{
    @T@ joints[@JOINTS@] = {@HOME@};
    @T@ next[@JOINTS@], share[1];
    int i, k;
    for (k = 1; k < @APPROACHES@; ++k) {
        share[0] = (@T@)k / (@T@)@APPROACHES@;
        @NAME@_approach(joints, q, share, next);
        for (i = 0; i < @JOINTS@; ++i) joints[i] = next[i];
    }
    @NAME@_near(q, qd, joints, state);
}
