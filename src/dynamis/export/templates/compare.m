    a = double(@GOT@(:)); b = @EXPECTED@(:, k); off = abs(a - b);
    off(a == b | (isnan(a) & isnan(b))) = 0;
    if any(~(off <= @TOLERANCE@ * max([1e-3; abs(b)])))
        fprintf('@NAME@ differs by %g\n', max(off)); failed = 1;
    end
