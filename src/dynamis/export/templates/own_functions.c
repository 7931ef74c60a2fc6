/* an optimiser that knows a mask for a condition may make a branch of it */
#if defined(__GNUC__)
#define DY_HIDE(mask) __asm__("" : "+r"(mask))
#else
#define DY_HIDE(mask) ((void)(mask))
#endif

typedef union { @T@ f; @WORD@ i; } dy_word;
typedef struct { @T@ sine, cosine; } dy_angle;

static inline @T@ dy_nan(void)
{
    dy_word w;
    w.i = (@WORD@)@NAN@u;
    return w.f;
}

static inline @T@ dy_inf(void)
{
    dy_word w;
    w.i = (@WORD@)@INF@u;
    return w.f;
}

static inline @WORD@ dy_bits(@T@ x)
{
    dy_word w;
    w.f = x;
    return w.i;
}

static inline @T@ dy_number(@WORD@ x)
{
    dy_word w;
    w.i = x;
    return w.f;
}

static inline @WORD@ dy_mask(int condition)
{
    @WORD@ mask = (@WORD@)0 - (@WORD@)(condition != 0);
    DY_HIDE(mask);
    return mask;
}

static inline @T@ dy_choose(@WORD@ mask, @T@ a, @T@ b)
{
    dy_word x, y;
    x.f = a;
    y.f = b;
    x.i = (x.i & mask) | (y.i & ~mask);
    return x.f;
}

static inline @T@ dy_truth(@WORD@ mask)
{
    dy_word w;
    w.f = 1.0@F@;
    w.i &= mask;
    return w.f;
}

static inline @T@ dy_select(@T@ c, @T@ a, @T@ b)
{
    return dy_choose(dy_mask(c != 0.0@F@), a, b);
}

static inline @T@ dy_abs(@T@ x)
{
    dy_word w;
    w.f = x;
    w.i &= ~((@WORD@)1 << @SIGN@);
    return w.f;
}

static inline @T@ dy_sign(@T@ x)
{
    const @WORD@ sign = (@WORD@)1 << @SIGN@;
    dy_word in, one;
    in.f = x;
    one.f = 1.0@F@;
    one.i |= in.i & sign;
    return dy_choose(dy_mask(dy_abs(x) > 0.0@F@), one.f, x + 0.0@F@);
}

static inline @T@ dy_min(@T@ a, @T@ b)
{
    return dy_choose(dy_mask((a != a) | (a < b)), a, b);
}

static inline @T@ dy_max(@T@ a, @T@ b)
{
    return dy_choose(dy_mask((a != a) | (a > b)), a, b);
}

static inline @T@ dy_floor(@T@ x)
{
    const @T@ whole = @WHOLE@; /* from here on every number is whole */
    const @WORD@ sign = (@WORD@)1 << @SIGN@;
    dy_word in, k;
    in.f = x;
    k.f = dy_abs(x) + whole - whole;
    k.i |= in.i & sign;
    k.f = k.f - dy_truth(dy_mask(k.f > x));
    k.i |= in.i & sign; /* -0.0 stays */
    return dy_choose(dy_mask(dy_abs(x) < whole), k.f, x);
}

static inline @T@ dy_fma(@T@ a, @T@ b, @T@ c)
{
#if defined(__FP_FAST_FMA@FAST@) || defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma@F@(a, b, c);
#else /* exact sums whose last rest is rounded to odd (Boldo and Melquiond 2008) */
    const @T@ ka = @SPLIT@ * a, kb = @SPLIT@ * b;
    const @T@ a1 = ka - (ka - a), a2 = a - a1;
    const @T@ b1 = kb - (kb - b), b2 = b - b1;
    const @T@ p = a * b;
    const @T@ q = ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2; /* a b = p + q */
    const @T@ s = c + q;
    const @T@ s1 = s - c;
    const @T@ t = (c - (s - s1)) + (q - s1); /* c + q = s + t */
    const @T@ u = p + s;
    const @T@ u1 = u - p;
    const @T@ v = (p - (u - u1)) + (s - u1); /* p + s = u + v */
    const @T@ z = t + v;
    const @T@ z1 = z - t;
    const @T@ rest = (t - (z - z1)) + (v - z1);
    const @WORD@ odd = dy_mask(rest != 0.0@F@) & ((dy_bits(z) & 1u) - 1u);
    const @WORD@ step = 1u - 2u * ((dy_bits(z) ^ dy_bits(rest)) >> @SIGN@);
    const @T@ sum = u + dy_number(dy_bits(z) + (odd & step));
    return dy_choose(dy_mask(sum == 0.0@F@), p + c, sum); /* the sign of a zero */
#endif
}
