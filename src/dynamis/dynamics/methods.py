"""Names of the formulations, for those who ask before anything is computed."""

RECURSIONS = ("newton-euler", "newton-euler-base")  # carry a wrench and a moving base themselves
CLOSED = ("lagrange-euler", "gibbs-appell")
INVERSE_METHODS = (*RECURSIONS, *CLOSED)
MASS_MATRICES = ("walker-orin-1", "walker-orin-2", "walker-orin-3")
FORWARD_METHODS = (*MASS_MATRICES, "walker-orin-4", "articulated-body")
