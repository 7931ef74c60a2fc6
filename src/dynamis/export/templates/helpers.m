function y = real_sqrt(x)
    if x < 0, y = x * NaN; else, y = sqrt(x); end
end

function y = real_log(x)
    if x < 0, y = x * NaN; else, y = log(x); end
end

function y = real_power(x, p)
    if x == 1, y = x; elseif isinf(p), y = abs(x)^p; elseif x < 0 && p ~= floor(p), y = x * NaN; else, y = x^p; end
end

function y = smaller(x, z)
    if x ~= x || x < z, y = x; else, y = z; end
end

function y = larger(x, z)
    if x ~= x || x > z, y = x; else, y = z; end
end

function y = choose(c, x, z)
    if c ~= 0, y = x; else, y = z; end
end
