/* What generated kernels call beside elementary.h: half types, and operators that C lacks or has
   with another meaning. It is part of every source by text. */
#ifndef GRADC_PRELUDE_H
#define GRADC_PRELUDE_H

#include <stdbool.h>

/* A program as its kernels see it; `buffers` are those of one kernel. */
typedef struct {
    void *const *buffers;
    const double *floats;
    const int64_t *ints;
    const gradc_runtime *runtime;
    gradc_error *error;
} gradc_call;

/* ---- half types: kept in 16 bits, computed in float */

typedef uint16_t gradc_f16;
typedef uint16_t gradc_bf16;

static inline float gradc_load_bf16(const gradc_bf16 *from)
{
    return gradc_bits_float((uint32_t)*from << 16);
}

/* To nearest, ties to even; a NaN stays one. */
static inline gradc_bf16 gradc_to_bf16(float value)
{
    const uint32_t bits = gradc_float_bits(value);
    const uint32_t nearest = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    return (gradc_bf16)(value != value ? (bits >> 16) | 0x40u : nearest);
}

#ifdef __FLT16_MAX__
static inline float gradc_load_f16(const gradc_f16 *from)
{
    _Float16 value;
    memcpy(&value, from, sizeof value);
    return (float)value;
}

static inline gradc_f16 gradc_to_f16(float value)
{
    const _Float16 narrow = (_Float16)value;
    gradc_f16 bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}
#else
static inline float gradc_load_f16(const gradc_f16 *from)
{
    const uint32_t bits = *from, sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
    if (magnitude >= 0x7C00u)
        return gradc_bits_float(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
    if (magnitude < 0x400u)
        return gradc_bits_float(sign | gradc_float_bits((float)magnitude * 0x1p-24f));
    return gradc_bits_float(sign | ((magnitude << 13) + 0x38000000u));
}

static inline gradc_f16 gradc_to_f16(float value)
{
    const uint32_t bits = gradc_float_bits(value), sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return (gradc_f16)(sign | 0x7E00u | (magnitude >> 13 & 0x3FFu));
    if (magnitude >= 0x477FF000u)
        return (gradc_f16)(sign | 0x7C00u);
    if (magnitude < 0x38800000u)
        return (gradc_f16)(sign | (uint32_t)rintf(gradc_bits_float(magnitude) * 0x1p24f));
    return (gradc_f16)(sign | (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13);
}
#endif

static inline void gradc_store_f16(gradc_f16 *to, float value) { *to = gradc_to_f16(value); }
static inline void gradc_store_bf16(gradc_bf16 *to, float value) { *to = gradc_to_bf16(value); }

static inline float gradc_round_f16(float value)
{
    const gradc_f16 bits = gradc_to_f16(value);
    return gradc_load_f16(&bits);
}

static inline float gradc_round_bf16(float value)
{
    const gradc_bf16 bits = gradc_to_bf16(value);
    return gradc_load_bf16(&bits);
}

/* ---- the larger and the smaller of two: a NaN goes through */

static inline float gradc_max_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float gradc_min_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline double gradc_max_f64(double a, double b) { return a > b || a != a ? a : b; }
static inline double gradc_min_f64(double a, double b) { return a < b || a != a ? a : b; }
static inline int32_t gradc_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t gradc_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int64_t gradc_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t gradc_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

#pragma omp declare reduction(gradc_max_f32 : float : omp_out = gradc_max_f32(omp_out, omp_in)) \
    initializer(omp_priv = -INFINITY)
#pragma omp declare reduction(gradc_min_f32 : float : omp_out = gradc_min_f32(omp_out, omp_in)) \
    initializer(omp_priv = INFINITY)
#pragma omp declare reduction(gradc_max_f64 : double : omp_out = gradc_max_f64(omp_out, omp_in)) \
    initializer(omp_priv = -INFINITY)
#pragma omp declare reduction(gradc_min_f64 : double : omp_out = gradc_min_f64(omp_out, omp_in)) \
    initializer(omp_priv = INFINITY)

/* ---- whole numbers: as in Python, and wrapping around; nothing traps */

#define GRADC_INTEGER_FUNCTIONS(kind, type)                                                       \
    static inline type gradc_floordiv_##kind(type a, type b)                                      \
    {                                                                                             \
        if (b == 0)                                                                               \
            return 0;                                                                             \
        if (b == -1)                                                                              \
            return (type)(0 - (u##type)a);                                                        \
        const type quotient = a / b;                                                              \
        return quotient - (a % b != 0 && (a < 0) != (b < 0));                                     \
    }                                                                                             \
    static inline type gradc_mod_##kind(type a, type b)                                           \
    {                                                                                             \
        if (b == 0 || b == -1)                                                                    \
            return 0;                                                                             \
        const type rest = a % b;                                                                  \
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;                              \
    }                                                                                             \
    static inline type gradc_pow_##kind(type base, type exponent)                                 \
    {                                                                                             \
        u##type result = 1, square = (u##type)base;                                               \
        if (exponent < 0)                                                                         \
            return base == 1 ? 1 : base == -1 ? 1 - 2 * (exponent & 1) : 0;                       \
        for (; exponent; exponent >>= 1, square *= square)                                        \
            if (exponent & 1)                                                                     \
                result *= square;                                                                 \
        return (type)result;                                                                      \
    }                                                                                             \
    static inline type gradc_shift_left_##kind(type a, type b)                                    \
    {                                                                                             \
        const u##type width = 8 * sizeof(type), distance = (u##type)b;                            \
        return distance < width ? (type)((u##type)a << distance) : 0;                             \
    }                                                                                             \
    static inline type gradc_shift_right_##kind(type a, type b)                                   \
    {                                                                                             \
        const u##type width = 8 * sizeof(type), distance = (u##type)b;                            \
        return a >> (distance < width ? distance : width - 1);                                    \
    }
GRADC_INTEGER_FUNCTIONS(i32, int32_t)
GRADC_INTEGER_FUNCTIONS(i64, int64_t)

/* ---- floats: division and remainder as in Python */

#define GRADC_FLOAT_FUNCTIONS(kind, type, suffix)                                                 \
    static inline type gradc_mod_##kind(type a, type b)                                           \
    {                                                                                             \
        const type rest = fmod##suffix(a, b);                                                     \
        if (rest == 0)                                                                            \
            return copysign##suffix(rest, b);                                                     \
        return (rest < 0) != (b < 0) ? rest + b : rest;                                           \
    }                                                                                             \
    static inline type gradc_floordiv_##kind(type a, type b)                                      \
    {                                                                                             \
        if (b == 0)                                                                               \
            return a / b;                                                                         \
        const type rest = fmod##suffix(a, b);                                                     \
        type quotient = (a - rest) / b;                                                           \
        if (rest != 0 && (rest < 0) != (b < 0))                                                   \
            quotient -= 1;                                                                        \
        if (quotient == 0)                                                                        \
            return copysign##suffix((type)0, a / b);                                              \
        const type below = floor##suffix(quotient);                                               \
        return quotient - below > (type)0.5 ? below + 1 : below;                                  \
    }
GRADC_FLOAT_FUNCTIONS(f32, float, f)
GRADC_FLOAT_FUNCTIONS(f64, double, )

/* ---- floats to integers: the fraction dropped, held within the type, NaN as 0. LOW - 1 and
   HIGH + 1 are exact in floating point, or round to the first number that is out of range. */

#define GRADC_HELD(name, type, low, high, kind, real)                                             \
    static inline type gradc_to_##name##_##kind(real a)                                           \
    {                                                                                             \
        const int beyond = a >= (real)(high) + 1, below = a <= (real)(low) - 1;                   \
        const type inside = (type)(beyond || below || a != a ? (real)0 : a);                      \
        return beyond ? (high) : below ? (low) : inside;                                          \
    }
#define GRADC_HELD_FROM(kind, real)                                                               \
    GRADC_HELD(u8, uint8_t, 0, 255, kind, real)                                                   \
    GRADC_HELD(i8, int8_t, -128, 127, kind, real)                                                 \
    GRADC_HELD(i16, int16_t, -32768, 32767, kind, real)                                           \
    GRADC_HELD(i32, int32_t, INT32_MIN, INT32_MAX, kind, real)                                    \
    GRADC_HELD(i64, int64_t, INT64_MIN, INT64_MAX, kind, real)
GRADC_HELD_FROM(f32, float)
GRADC_HELD_FROM(f64, double)

/* ---- places that are known only at run time */

/* The place among `size` that `found` means, if it is not below `least`; else the error is noted
   and 0 given. */
static inline int64_t gradc_place(gradc_error *error, int32_t check, int64_t position,
                                  int64_t found, int64_t least, int64_t size)
{
    if (found >= 0 && found < size)
        return found;
    if (found < 0 && found >= least)
        return found + size;
    /* the first that comes writes the whole record: two threads never mix theirs */
    int32_t fine = GRADC_FINE;
    if (__atomic_compare_exchange_n(&error->code, &fine, GRADC_INDEX, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
        error->node = check;
        error->position = position;
        error->found = found;
        error->bound = size;
    }
    return 0;
}

/* ---- random bits: word `position` % 4 of a block of Philox 4x32 with 10 rounds */

static inline int64_t gradc_philox(int64_t position, int64_t key, int64_t stream)
{
    const uint64_t block = (uint64_t)position >> 2;
    uint32_t a = (uint32_t)block, b = (uint32_t)(block >> 32);
    uint32_t c = (uint32_t)stream, d = (uint32_t)((uint64_t)stream >> 32);
    uint32_t low = (uint32_t)key, high = (uint32_t)((uint64_t)key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t left = (uint64_t)0xD2511F53u * a, right = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(right >> 32) ^ b ^ low;
        b = (uint32_t)right;
        c = (uint32_t)(left >> 32) ^ d ^ high;
        d = (uint32_t)left;
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    const uint32_t even = position & 2 ? c : a, odd = position & 2 ? d : b;
    return position & 1 ? odd : even;
}

/* ---- chunks on the caller's thread */

static inline void gradc_serial(int64_t chunks, gradc_body *body, const gradc_call *call)
{
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        body((void *)call, chunk);
}

#endif
