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
@IF SINGLE@
#else /* the product is exact in double, the sum rounded to odd (Boldo and Melquiond 2008) */
    union { double f; uint64_t i; } sum, rest;
    const double p = (double)a * (double)b, s = p + (double)c, t = s - p;
    uint64_t odd;
    sum.f = s;
    rest.f = (p - (s - t)) + ((double)c - t);
    odd = (uint64_t)(rest.f != 0.0) & ~sum.i;
    sum.i += odd - 2u * (odd & ((sum.i ^ rest.i) >> 63));
    return (float)sum.f;
@ELSE@
#else /* |a b| < |c| / 8: the rest of the product matters where c + p lies between two numbers */
    const double ka = 134217729.0 * a, kb = 134217729.0 * b;
    const double a1 = ka - (ka - a), a2 = a - a1;
    const double b1 = kb - (kb - b), b2 = b - b1;
    const double p = a * b;
    const double q = ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2; /* a b = p + q (Dekker 1971) */
    const double s = c + p;
    const double e = p - (s - c); /* c + p = s + e */
    return s + dy_number(dy_bits(e) | (uint64_t)(e * q > 0.0)); /* beyond the middle */
@END@
#endif
}

static inline @T@ dy_sqrt(@T@ x)
{
#if defined(__SSE2__) /* the instruction: a compiler's own sqrt may branch to set errno */
    @T@ root;
    __asm__("sqrts@SCALAR@ %1, %0" : "=x"(root) : "x"(x));
    return root;
#elif defined(__GNUC__) && defined(__aarch64__)
    @T@ root;
    __asm__("fsqrt %@SCALAR@0, %@SCALAR@1" : "=w"(root) : "w"(x));
    return root;
#else /* digit by digit: x = m 2^e with an even e, one bit of the root for two of m */
    const @WORD@ one = 1, tiny = dy_mask(x < @TINY@);
    const @WORD@ bits = dy_bits(dy_choose(tiny, x * @WHOLE@ * @WHOLE@, x));
    const @WORD@ exponent = bits >> @MANTISSA@, odd = (exponent ^ @EXPONENT@u) & one;
    const @WORD@ shift = odd | ((one ^ odd) * @EVEN@u);
    @WORD@ m = ((bits & ((one << @MANTISSA@) - one)) | (one << @MANTISSA@)) << shift;
    @WORD@ root = 0, rest = 0;
    int i;
    m <<= @SIGN@ + 1 - 2 * @PAIRS@;
    for (i = 0; i < @MANTISSA@ + 2; i++) {
        const @WORD@ two = (rest << 2) | (m >> (@SIGN@ - 1)), next = (root << 2) | one;
        const @WORD@ fits = dy_mask(two >= next);
        rest = two - (next & fits);
        root = (root << 1) | (fits & one);
        m <<= 2;
    }
    root = (root + one) >> 1; /* never a tie: its square has more bits than x */
    root += ((exponent - shift + @EXPONENT@u) / 2u - @HALF@u - (tiny & @MANTISSA@u)) << @MANTISSA@;
    x = dy_choose(dy_mask(x < 0.0@F@), dy_nan(), x);
    return dy_choose(dy_mask(x > 0.0@F@) & dy_mask(x < dy_inf()), dy_number(root), x);
#endif
}
