/* Exponentials, logarithms, hyperbolic functions and erf of float, without branches or calls, so
   that compilers vectorize the loops that use them, and lanes, tails and single values have the
   same bits. Errors are at most those stated, in units in the last place, for all arguments; zeros
   keep their sign, subnormals are exact to rounding, NaN goes through. The polynomials and
   quotients are minimax fits of the relative error, whose bound stands beside each. Of double,
   the functions are those of the math library. */
#ifndef GRADC_ELEMENTARY_H
#define GRADC_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* How the functions are compiled: into the loops that use them, or, where a program has very many
   uses, once, with clones for the lanes of vectors. */
#define GRADC_INLINE static inline __attribute__((always_inline))
#if defined(GRADC_ELEMENTARY_ONCE) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__clang__)
#define GRADC_MATH static __attribute__((noinline, unused, simd("notinbranch"), const))
#else
#define GRADC_MATH GRADC_INLINE
#endif

/* How arrays on the stack are declared: gcc 12 may take them for aligned to its vectors, and let
   them lie elsewhere. */
#define GRADC_LINED __attribute__((aligned(64)))

/* ---- bits, and constants */

#define GRADC_LN2 0x1.62e43p-1f
#define GRADC_LN2_HIGH 0x1.62e4p-1f /* 15 bits: products with exponents are exact */
#define GRADC_LN2_LOW 0x1.7f7d1cp-20f
#define GRADC_LOG2_E 0x1.715476p+0f

GRADC_INLINE float gradc_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

GRADC_INLINE uint32_t gradc_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* a * b + c, rounded once where the processor can. */
GRADC_INLINE float gradc_fma(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* x held between a negative number and a positive one, by its bits, which is sooner done; NaN is
   not kept. */
GRADC_INLINE float gradc_held(float x, float low, float high)
{
    const int32_t bits = (int32_t)gradc_float_bits(x), most = (int32_t)gradc_float_bits(high);
    const uint32_t below = (uint32_t)(bits < most ? bits : most), least = gradc_float_bits(low);
    return gradc_bits_float(below < least ? below : least);
}

/* |x|, but at most `high`; NaN is not kept. */
GRADC_INLINE float gradc_size(float x, float high)
{
    const uint32_t bits = gradc_float_bits(x) & 0x7FFFFFFFu, most = gradc_float_bits(high);
    return gradc_bits_float(bits < most ? bits : most);
}

/* ---- exponentials: exp(r) * 2^k, where |r| <= ln(2)/2 */

/* The integer nearest to x is added to `bias` in the low bits of the sum. */
GRADC_INLINE float gradc_round_biased(float x, float factor, float bias)
{
    return gradc_fma(x, factor, 0x1.8p+23f + bias);
}

/* x - k * log(2) */
GRADC_INLINE float gradc_reduced(float x, float k)
{
    return gradc_fma(k, -GRADC_LN2_LOW, gradc_fma(k, -GRADC_LN2_HIGH, x));
}

/* The polynomials are summed by Estrin's scheme: in long loop bodies, waiting for one operation
   after another is what takes the time. */

/* exp(r) for |r| <= 0.349: 2^-28.2 */
GRADC_INLINE float gradc_exp_near_0(float r)
{
    const float square = r * r;
    const float third = gradc_fma(0x1.123b5cp-7f, r, 0x1.5558bcp-5f);
    const float second = gradc_fma(0x1.55549p-3f, r, 0x1.fffffcp-2f);
    const float upper = gradc_fma(gradc_fma(0x1.6a445ep-10f, square, third), square, second);
    return gradc_fma(upper, square, 1.0f + r);
}

/* exp(r) - 1 for |r| <= 0.349: 2^-26.1 */
GRADC_INLINE float gradc_expm1_near_0(float r)
{
    const float square = r * r;
    const float third = gradc_fma(0x1.122862p-7f, r, 0x1.5556fep-5f);
    const float second = gradc_fma(0x1.5554bp-3f, r, 0x1.fffffep-2f);
    const float upper = gradc_fma(gradc_fma(0x1.6b9224p-10f, square, third), square, second);
    return gradc_fma(upper, square, r);
}

/* p * 2^k, rounded once, where the low bits of `biased` are k + 254: of a power that may be too
   large or too small for a float, both halves. */
GRADC_INLINE float gradc_scaled(float p, float biased)
{
    const uint32_t bits = gradc_float_bits(biased);
    const uint32_t high = bits << 22 & 0xFF800000u, low = (bits << 23) - high;
    return p * gradc_bits_float(high) * gradc_bits_float(low);
}

/* exp(x) * 2^(bias - 254), where that is a float, for x in [-104, 89]. */
GRADC_INLINE float gradc_exp_biased(float x, float bias)
{
    const float biased = gradc_round_biased(x, GRADC_LOG2_E, bias);
    const float k = biased - (0x1.8p+23f + bias);
    return gradc_scaled(gradc_exp_near_0(gradc_reduced(x, k)), biased);
}

GRADC_MATH float gradc_exp_f32(float x) /* 1.3 ulp */
{
    return x == x ? gradc_exp_biased(gradc_held(x, -104.0f, 89.0f), 254.0f) : x;
}

GRADC_MATH float gradc_exp2_f32(float x) /* 1.1 ulp */
{
    const float held = gradc_held(x, -151.0f, 129.0f);
    const float biased = gradc_round_biased(held, 1.0f, 254.0f);
    const float r = held - (biased - (0x1.8p+23f + 254.0f));
    /* 2^r for |r| <= 0.503: 2^-28.2 */
    const float square = r * r;
    const float third = gradc_fma(0x1.4172aep-13f, r, 0x1.5f0c9p-10f);
    const float second = gradc_fma(0x1.3b2ddep-7f, r, 0x1.c6af76p-5f);
    const float first = gradc_fma(0x1.ebfbdcp-3f, r, 0x1.62e43p-1f);
    const float upper = gradc_fma(gradc_fma(third, square, second), square, first);
    return x == x ? gradc_scaled(gradc_fma(upper, r, 1.0f), biased) : x;
}

/* (exp(x) - 1) / 2 for x in [-20, 89]. */
GRADC_INLINE float gradc_expm1_half(float x)
{
    const float biased = gradc_round_biased(x, GRADC_LOG2_E, 126.0f);
    const float r = gradc_reduced(x, biased - (0x1.8p+23f + 126.0f));
    const float half = gradc_bits_float(gradc_float_bits(biased) << 23); /* 2^(k-1) */
    return gradc_fma(half, gradc_expm1_near_0(r), half - 0.5f);
}

GRADC_MATH float gradc_expm1_f32(float x) /* 1.6 ulp */
{
    const float value = 2.0f * gradc_expm1_half(gradc_held(x, -20.0f, 89.0f));
    return fabsf(x) >= 0x1p-25f ? value : x;
}

GRADC_MATH float gradc_sigmoid_f32(float x) /* 2.5 ulp */
{
    const float e = gradc_exp_biased(-gradc_size(x, 104.0f), 254.0f);
    return x == x ? (x < 0.0f ? e : 1.0f) / (1.0f + e) : x;
}

/* ---- logarithms: log(1 + f) + k * log(2), where sqrt(1/2) <= 1 + f < sqrt(2) */

/* (log(1 + f) - f + f^2 / 2) / f^3 in this interval: 2^-27.3 of log(1 + f) */
GRADC_INLINE float gradc_log_rest(float f)
{
    const float square = f * f;
    const float fourth = gradc_fma(-0x1.38c96ap-4f, f, 0x1.055eacp-3f);
    const float third = gradc_fma(-0x1.0d8246p-3f, f, 0x1.22d93p-3f);
    const float second = gradc_fma(-0x1.54728ap-3f, f, 0x1.99a01cp-3f);
    const float first = gradc_fma(-0x1.000226p-2f, f, 0x1.555554p-2f);
    const float upper = gradc_fma(fourth, square, third), lower = gradc_fma(second, square, first);
    return gradc_fma(upper, square * square, lower);
}

/* log(1 + f) + k * log(2) */
GRADC_INLINE float gradc_log_joined(float k, float f)
{
    const float square = f * f, lower = gradc_fma(square, -0.5f, gradc_fma(k, GRADC_LN2_LOW, f));
    return gradc_fma(k, GRADC_LN2_HIGH, gradc_fma(gradc_log_rest(f), square * f, lower));
}

/* log(1 + f) - f */
GRADC_INLINE float gradc_log_curved(float f)
{
    return f * f * gradc_fma(gradc_log_rest(f), f, -0.5f);
}

/* The integer k for a number of these bits, and the bits of 1 + f. */
GRADC_INLINE int32_t gradc_exponent(uint32_t bits) { return (int32_t)(bits - 0x3F3504F3u) >> 23; }

/* `value`, found for a positive x, for all: a logarithm has a pole at 0 and ends there. */
GRADC_INLINE float gradc_log_domain(float value, float x)
{
    const float within = x < INFINITY ? value : x;
    const float outside = x == 0.0f ? -INFINITY : NAN;
    return x > 0.0f ? within : outside;
}

typedef struct {
    float k, f;
} gradc_parted;

GRADC_INLINE gradc_parted gradc_part(float x)
{
    const int small = x < 0x1p-126f;
    const uint32_t bits = gradc_float_bits(x * (small ? 0x1p+24f : 1.0f));
    const int32_t exponent = gradc_exponent(bits);
    const float f = gradc_bits_float(bits - ((uint32_t)exponent << 23)) - 1.0f;
    return (gradc_parted){(float)exponent - (small ? 24.0f : 0.0f), f};
}

GRADC_MATH float gradc_log_f32(float x) /* 1.2 ulp */
{
    const gradc_parted part = gradc_part(x);
    return gradc_log_domain(gradc_log_joined(part.k, part.f), x);
}

GRADC_MATH float gradc_log2_f32(float x) /* 1.6 ulp */
{
    const gradc_parted part = gradc_part(x);
    const float rest = gradc_fma(gradc_log_curved(part.f), GRADC_LOG2_E, part.f * 0x1.c551d9p-2f);
    return gradc_log_domain(part.k + (part.f + rest), x);
}

GRADC_MATH float gradc_log10_f32(float x) /* 1.2 ulp */
{
    /* 0.5 - 0.0657... is log10(e), 0.301... + 4.6e-6 is log10(2) */
    const gradc_parted part = gradc_part(x);
    const float low = gradc_fma(part.f, -0x1.0d213ap-4f, part.k * 0x1.3509f8p-18f);
    const float rest = gradc_fma(gradc_log_curved(part.f), 0x1.bcb7b2p-2f, low);
    const float sum = gradc_fma(part.f, 0.5f, rest);
    return gradc_log_domain(gradc_fma(part.k, 0x1.344p-2f, sum), x);
}

/* log(1 + x) */
GRADC_MATH float gradc_log1p_f32(float x) /* 2 ulp */
{
    const float u = 1.0f + x;
    const uint32_t bits = gradc_float_bits(u);
    const int32_t exponent = gradc_exponent(bits);
    const float k = (float)exponent, lost = x - (u - 1.0f);
    const uint32_t scale = exponent > 64 ? 0 : 0x3F800000u - ((uint32_t)exponent << 23);
    const float m = gradc_bits_float(bits - ((uint32_t)exponent << 23));
    const float f = gradc_fma(lost, gradc_bits_float(scale), m - 1.0f);
    return copysignf(gradc_log_domain(gradc_log_joined(k, f), u), x);
}

/* ---- hyperbolic functions */

GRADC_MATH float gradc_tanh_f32(float x) /* 2.6 ulp */
{
    const float half = gradc_expm1_half(2.0f * gradc_size(x, 10.0f));
    return x == x ? copysignf(half / (half + 1.0f), x) : x;
}

GRADC_MATH float gradc_sinh_f32(float x) /* 1.7 ulp */
{
    const float magnitude = fabsf(x), u = x * x;
    const float half = gradc_exp_biased(magnitude > 90.0f ? 90.0f : magnitude, 253.0f);
    /* sinh(x) for |x| <= 1: 2^-31.5 */
    float sum = 0x1.75c1dep-19f;
    sum = gradc_fma(sum, u, 0x1.a02102p-13f);
    sum = gradc_fma(sum, u, 0x1.1110e2p-7f);
    sum = gradc_fma(sum, u, 0x1.555556p-3f);
    const float near_0 = gradc_fma(sum * u, x, x);
    return magnitude < 1.0f ? near_0 : copysignf(half - 0.25f / half, x);
}

GRADC_MATH float gradc_cosh_f32(float x) /* 1.5 ulp */
{
    const float magnitude = fabsf(x) > 90.0f ? 90.0f : fabsf(x);
    const float half = gradc_exp_biased(magnitude, 253.0f);
    return half + 0.25f / half;
}

GRADC_MATH float gradc_asinh_f32(float x) /* 2.3 ulp */
{
    const float a = fabsf(x), square = a * a;
    const int big = a > 0x1p+60f;
    const float beyond = square / (1.0f + sqrtf(1.0f + square));
    const float value = gradc_log1p_f32(big ? a : a + beyond);
    return copysignf(big ? value + GRADC_LN2 : value, x);
}

GRADC_MATH float gradc_acosh_f32(float x) /* 2.3 ulp */
{
    const float t = x - 1.0f;
    const int big = x > 0x1p+60f;
    const float value = gradc_log1p_f32(big ? x : t + sqrtf(gradc_fma(t, t, 2.0f * t)));
    return big ? value + GRADC_LN2 : x < 1.0f ? NAN : value;
}

GRADC_MATH float gradc_atanh_f32(float x) /* 2.5 ulp */
{
    const float a = fabsf(x);
    return copysignf(0.5f * gradc_log1p_f32(2.0f * a / (1.0f - a)), x);
}

/* ---- erf */

GRADC_MATH float gradc_erf_f32(float x) /* 1.2 ulp */
{
    const float a = fabsf(x) > 3.95f ? 3.95f : fabsf(x), u = x * x;
    /* erf(x) / x - 1 for |x| < 0.9: 2^-26 of erf(x) / x */
    float near_0 = -0x1.3d5ffap-11f;
    near_0 = gradc_fma(near_0, u, 0x1.47f6fep-8f);
    near_0 = gradc_fma(near_0, u, -0x1.b6a7c6p-6f);
    near_0 = gradc_fma(near_0, u, 0x1.ce1c1ep-4f);
    near_0 = gradc_fma(near_0, u, -0x1.8126eep-2f);
    near_0 = gradc_fma(near_0, u, 0x1.06eba6p-3f);
    /* log(1 - erf(a)) for a >= 0.9: 2^-29 of erf(a) */
    float power = 0x1.9fecfcp-13f;
    power = gradc_fma(power, a, -0x1.91f0e6p-9f);
    power = gradc_fma(power, a, 0x1.6daec4p-6f);
    power = gradc_fma(power, a, -0x1.aa7c6p-4f);
    power = gradc_fma(power, a, -0x1.46206cp-1f);
    power = gradc_fma(power, a, -0x1.20b7b4p+0f);
    power = gradc_fma(power, a, -0x1.5a258ap-13f);
    const float rest = gradc_exp_biased(power, 254.0f);
    return a < 0.9f ? gradc_fma(near_0, x, x) : copysignf(1.0f - rest, x);
}

/* ---- double: the math library's functions */

#define GRADC_MATH_F64(name) GRADC_INLINE double gradc_##name##_f64(double x) { return name(x); }
GRADC_MATH_F64(exp)
GRADC_MATH_F64(exp2)
GRADC_MATH_F64(expm1)
GRADC_MATH_F64(log)
GRADC_MATH_F64(log2)
GRADC_MATH_F64(log10)
GRADC_MATH_F64(log1p)
GRADC_MATH_F64(sinh)
GRADC_MATH_F64(cosh)
GRADC_MATH_F64(tanh)
GRADC_MATH_F64(asinh)
GRADC_MATH_F64(acosh)
GRADC_MATH_F64(atanh)
GRADC_MATH_F64(erf)

GRADC_INLINE double gradc_sigmoid_f64(double x)
{
    const double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* ---- both: log(exp(a) + exp(b)) without overflow */

#define GRADC_LOGADDEXP(kind, type)                                                               \
    GRADC_MATH type gradc_logaddexp_##kind(type a, type b)                                        \
    {                                                                                             \
        const type larger = a > b ? a : b, gap = a > b ? a - b : b - a;                           \
        const type sum = larger + gradc_log1p_##kind(gradc_exp_##kind(-gap));                     \
        return a == b ? a + (type)0.693147180559945309 : sum;                                     \
    }
GRADC_LOGADDEXP(f32, float)
GRADC_LOGADDEXP(f64, double)
#endif
