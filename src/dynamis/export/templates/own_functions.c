/* an optimiser that knows a mask for a condition may make a branch of it */
#if defined(__GNUC__)
#define DY_HIDE(mask) __asm__("" : "+r"(mask))
#else
#define DY_HIDE(mask) ((void)(mask))
#endif

typedef union { @T@ f; @WORD@ i; } dy_word;

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

static inline @T@ dy_sine(@T@ x, @WORD@ quarter)
{
    const @T@ magic = @MAGIC@;
    dy_word shifted, s, value;
    @T@ k, high, low, part, next, r, z, sine, cosine;
    shifted.f = x * @TWO_OVER_PI@ + magic;
    k = shifted.f - magic;
    shifted.i += quarter;
    high = x - k * @HALF_PI@;
    low = 0.0@F@;
@REDUCTION@    r = high + low;
    low = (high - r) + low; /* what r could not hold */
    z = r * r;
    sine = r + (r * z * @SINE@ + low);
    part = 0.5@F@ * z;
    next = 1.0@F@ - part;
    cosine = next + (((1.0@F@ - next) - part) + (z * z * @COSINE@ - r * low));
    value.f = dy_choose((@WORD@)0 - (shifted.i & 1u), cosine, sine);
    s.i = (shifted.i & 2u) << @SIGN_LESS_1@;
    value.i ^= s.i;
    return value.f;
}

static inline @T@ dy_sin(@T@ x)
{
    return dy_sine(x, 0u);
}

static inline @T@ dy_cos(@T@ x)
{
    return dy_sine(x, 1u);
}

static inline @T@ dy_exp(@T@ x)
{
    const @T@ magic = @MAGIC@;
    const @T@ y = dy_max((-@EXP_LAST@), dy_min(x, @EXP_LAST@));
    dy_word scale, shifted;
    @T@ k, r;
    shifted.f = y * @LOG2_E@ + magic;
    k = shifted.f - magic;
    r = (y - k * @LN2_HIGH@) - k * @LN2_LOW@;
    scale.i = (shifted.i + @BIAS@u) << @MANTISSA@; /* the low bits of shifted are k */
    return @SERIES@ * scale.f;
}

static inline @T@ dy_tanh(@T@ x)
{
    const @T@ z = x * x;
    const @T@ e = dy_exp(2.0@F@ * x);
    const @T@ large = 1.0@F@ - 2.0@F@ / (e + 1.0@F@);
    const @T@ small = x + @TANH@;
    const @T@ near = @TANH_SMALL@;
    return dy_choose(dy_mask(dy_abs(x) < near), small, large);
}
