// What every generated CUDA source starts with. It compiles under nvcc and NVRTC without headers of
// the toolkit, and as C++ for the CPU where GRADC_SIMT is defined.
//
// A kernel is  extern "C" __global__ void name(GRADC_KERNEL_PARAMETERS)  and finds in device memory
// the table of its buffers, the numbers of the call, and a record for the first error.
#ifndef GRADC_CUH
#define GRADC_CUH

// One text serves all integers, so that an unsigned one may be asked whether it is negative.
#if defined(GRADC_SIMT)
#pragma GCC diagnostic ignored "-Wtype-limits"
#else
#pragma nv_diag_suppress 186
#endif

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807 - 1)
#define INT64_MAX 9223372036854775807
#define INT64_C(NUMBER) NUMBER##L
#else
#include <stdint.h>
#endif

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif

// ---- the call

struct gradc_device_error {
    int code;  // 0: none
    int node;
    long long position, found, bound;
};

#define GRADC_KERNEL_PARAMETERS                                                          \
    [[maybe_unused]] void *const *buffers, [[maybe_unused]] const double *floats,        \
        [[maybe_unused]] const long long *ints, [[maybe_unused]] gradc_device_error *error

// Names memory that all threads of a block share, as many bytes as the launch asks for.
#if defined(GRADC_SIMT)
#define GRADC_DYNAMIC_SHARED(TYPE, NAME) \
    TYPE *const NAME = reinterpret_cast<TYPE *>(simt::dynamic_shared.data())
#else
#define GRADC_DYNAMIC_SHARED(TYPE, NAME)                          \
    extern __shared__ __align__(16) unsigned char gradc_shared[]; \
    TYPE *const NAME = reinterpret_cast<TYPE *>(gradc_shared)
#endif

// Keeps the error that is reported first; which one that is among several is not defined.
__device__ __forceinline__ void gradc_report(gradc_device_error *error, int code, int node,
                                             long long position, long long found, long long bound) {
    if (atomicCAS(&error->code, 0, code) != 0) return;
    error->node = node;
    error->position = position;
    error->found = found;
    error->bound = bound;
}

// Whether an earlier kernel of the call has reported an error, so that nothing may be written.
__device__ __forceinline__ bool gradc_failed(const gradc_device_error *error) {
    return error->code != 0;
}

// The place among `size` that `found` means, if it is not below `least`; else the error is reported
// and 0 given.
__device__ __forceinline__ int64_t gradc_place(gradc_device_error *error, int check,
                                               int64_t position, int64_t found, int64_t least,
                                               int64_t size) {
    if (found >= 0 && found < size) return found;
    if (found < 0 && found >= least) return found + size;
    gradc_report(error, 1, check, position, found, size);
    return 0;
}

// Whether x goes before y in a sorted line: NaN is larger than all numbers.
template <typename T> __device__ __forceinline__ bool gradc_smaller(T x, T y) { return x < y; }
__device__ __forceinline__ bool gradc_smaller(float x, float y) {
    return x < y || (y != y && x == x);
}
__device__ __forceinline__ bool gradc_smaller(double x, double y) {
    return x < y || (y != y && x == x);
}

// Random bits: word `position` % 4 of a block of Philox 4x32 with 10 rounds.
__device__ __forceinline__ int64_t gradc_philox(int64_t position, int64_t key, int64_t stream) {
    const uint64_t block = static_cast<uint64_t>(position) >> 2;
    const uint64_t turn = static_cast<uint64_t>(stream), seed = static_cast<uint64_t>(key);
    uint32_t a = static_cast<uint32_t>(block), b = static_cast<uint32_t>(block >> 32);
    uint32_t c = static_cast<uint32_t>(turn), d = static_cast<uint32_t>(turn >> 32);
    uint32_t low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t left = 0xD2511F53ull * a, right = 0xCD9E8D57ull * c;
        a = static_cast<uint32_t>(right >> 32) ^ b ^ low;
        b = static_cast<uint32_t>(right);
        c = static_cast<uint32_t>(left >> 32) ^ d ^ high;
        d = static_cast<uint32_t>(left);
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return position & 1 ? (position & 2 ? d : b) : (position & 2 ? c : a);
}

// The linear number of this thread in the grid and how many there are: a grid-stride loop is
// for (int64_t i = gradc_thread(); i < count; i += gradc_thread_count()).
__device__ __forceinline__ int64_t gradc_thread() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t gradc_thread_count() {
    return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

// ---- scalar functions of operators, by the short name of the computing type

#define GRADC_EXTREMES(KIND, TYPE)                                               \
    __device__ __forceinline__ TYPE gradc_max_##KIND(TYPE x, TYPE y) {           \
        return x > y || x != x ? x : y; /* NaN, where either is */               \
    }                                                                            \
    __device__ __forceinline__ TYPE gradc_min_##KIND(TYPE x, TYPE y) {           \
        return x < y || x != x ? x : y;                                          \
    }
GRADC_EXTREMES(i32, int32_t)
GRADC_EXTREMES(i64, int64_t)
GRADC_EXTREMES(f32, float)
GRADC_EXTREMES(f64, double)

// Quotients are rounded towards minus infinity; what is divided by 0 gives 0. All wraps around.
// x**-n is 1 / x**n without its fraction, and 0**-n is 0. Bits that are shifted out are lost, also
// where as many as there are, or a negative number, are shifted.
#define GRADC_INTEGER_FUNCTIONS(KIND, TYPE, UNSIGNED)                            \
    __device__ __forceinline__ TYPE gradc_floordiv_##KIND(TYPE x, TYPE y) {      \
        if (y == 0) return 0;                                                    \
        if (y == -1) return static_cast<TYPE>(-static_cast<UNSIGNED>(x));        \
        const TYPE quotient = x / y;                                             \
        return quotient - (x % y != 0 && (x < 0) != (y < 0));                    \
    }                                                                            \
    __device__ __forceinline__ TYPE gradc_mod_##KIND(TYPE x, TYPE y) {           \
        if (y == 0 || y == -1) return 0;                                         \
        const TYPE remainder = x % y;                                            \
        return remainder != 0 && (x < 0) != (y < 0) ? remainder + y : remainder; \
    }                                                                            \
    __device__ __forceinline__ TYPE gradc_pow_##KIND(TYPE x, TYPE y) {           \
        if (y < 0) return x == 1 ? 1 : x == -1 ? 1 - 2 * (y & 1) : 0;            \
        UNSIGNED result = 1, factor = static_cast<UNSIGNED>(x);                  \
        for (; y != 0; y >>= 1, factor *= factor)                                \
            if (y & 1) result *= factor;                                         \
        return static_cast<TYPE>(result);                                        \
    }                                                                            \
    __device__ __forceinline__ TYPE gradc_shift_left_##KIND(TYPE x, TYPE y) {    \
        const UNSIGNED width = 8 * sizeof(TYPE), distance = y;                   \
        return distance < width ? static_cast<UNSIGNED>(x) << distance : 0;      \
    }                                                                            \
    __device__ __forceinline__ TYPE gradc_shift_right_##KIND(TYPE x, TYPE y) {   \
        const UNSIGNED width = 8 * sizeof(TYPE), distance = y;                   \
        return x >> (distance < width ? distance : width - 1);                   \
    }
GRADC_INTEGER_FUNCTIONS(i32, int32_t, uint32_t)
GRADC_INTEGER_FUNCTIONS(i64, int64_t, uint64_t)

// As NumPy: the remainder has the divisor's sign, and the quotient is made to agree with it.
#define GRADC_FLOAT_FUNCTIONS(KIND, TYPE, SUFFIX)                                          \
    __device__ __forceinline__ TYPE gradc_mod_##KIND(TYPE x, TYPE y) {                     \
        const TYPE remainder = fmod##SUFFIX(x, y);                                         \
        if (remainder == 0) return copysign##SUFFIX(remainder, y);                         \
        return (remainder < 0) != (y < 0) ? remainder + y : remainder;                     \
    }                                                                                      \
    __device__ __forceinline__ TYPE gradc_floordiv_##KIND(TYPE x, TYPE y) {                \
        if (y == 0) return x / y;                                                          \
        const TYPE remainder = fmod##SUFFIX(x, y);                                         \
        TYPE quotient = (x - remainder) / y;                                               \
        if (remainder != 0 && (remainder < 0) != (y < 0)) quotient -= 1;                   \
        if (quotient == 0) return copysign##SUFFIX(static_cast<TYPE>(0), x / y);           \
        const TYPE whole = floor##SUFFIX(quotient);                                        \
        return quotient - whole > static_cast<TYPE>(0.5) ? whole + 1 : whole;              \
    }                                                                                      \
    __device__ __forceinline__ TYPE gradc_logaddexp_##KIND(TYPE x, TYPE y) {               \
        if (x == y) return x + static_cast<TYPE>(0.693147180559945309); /* also inf */     \
        const TYPE difference = x - y;                                                     \
        if (difference > 0) return x + log1p##SUFFIX(exp##SUFFIX(-difference));            \
        return y + log1p##SUFFIX(exp##SUFFIX(difference));                                 \
    }
GRADC_FLOAT_FUNCTIONS(f32, float, f)
GRADC_FLOAT_FUNCTIONS(f64, double, )

// Without the fraction and held within the range of the integer type; NaN gives 0. LOW - 1 and
// HIGH + 1 are exact in floating point, or round to the first number that is out of the range.
#define GRADC_CLAMPED(NAME, TYPE, LOW, HIGH, KIND, FLOAT)                        \
    __device__ __forceinline__ TYPE gradc_to_##NAME##_##KIND(FLOAT x) {          \
        if (x != x) return 0;                                                    \
        if (x <= static_cast<FLOAT>(LOW) - 1) return LOW;                        \
        if (x >= static_cast<FLOAT>(HIGH) + 1) return HIGH;                      \
        return static_cast<TYPE>(x);                                             \
    }
#define GRADC_CLAMPED_FROM(KIND, FLOAT)                                          \
    GRADC_CLAMPED(u8, uint8_t, 0, 255, KIND, FLOAT)                              \
    GRADC_CLAMPED(i8, int8_t, -128, 127, KIND, FLOAT)                            \
    GRADC_CLAMPED(i16, int16_t, -32768, 32767, KIND, FLOAT)                      \
    GRADC_CLAMPED(i32, int32_t, INT32_MIN, INT32_MAX, KIND, FLOAT)               \
    GRADC_CLAMPED(i64, int64_t, INT64_MIN, INT64_MAX, KIND, FLOAT)
GRADC_CLAMPED_FROM(f32, float)
GRADC_CLAMPED_FROM(f64, double)

// ---- half types: stored as bits, computed in float

__device__ __forceinline__ float gradc_from_bfloat16(uint16_t bits) {
    return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

// To the nearest, ties to even; a NaN stays one.
__device__ __forceinline__ uint16_t gradc_to_bfloat16(float x) {
    const uint32_t bits = __float_as_uint(x);
    if (x != x) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#if defined(GRADC_SIMT)
__device__ __forceinline__ float gradc_from_float16(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00) return __uint_as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400) return __uint_as_float(sign | (magnitude + (112 << 10)) << 13);
    const float subnormal = static_cast<float>(magnitude) * (1.0f / 16777216.0f);
    return sign != 0 ? -subnormal : subnormal;
}

// Adding half of the last kept bit's worth (its odd bit breaks ties) rounds; below the normal range
// the addition of 0.5 does, since the last bit of its sum is worth the smallest subnormal.
__device__ __forceinline__ uint16_t gradc_to_float16(float x) {
    const uint32_t bits = __float_as_uint(x);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    uint32_t result;
    if (magnitude > 0x7f800000)
        result = 0x7e00;
    else if (magnitude >= 0x477ff000)
        result = 0x7c00;
    else if (magnitude >= 0x38800000)
        result = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    else
        result = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000;
    return static_cast<uint16_t>(sign | result);
}
#else
__device__ __forceinline__ float gradc_from_float16(uint16_t bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}

__device__ __forceinline__ uint16_t gradc_to_float16(float x) {
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif

#define GRADC_HALF(KIND, NAME)                                                             \
    typedef uint16_t gradc_##KIND;                                                         \
    __device__ __forceinline__ float gradc_load_##KIND(const gradc_##KIND *from) {         \
        return gradc_from_##NAME(*from);                                                   \
    }                                                                                      \
    __device__ __forceinline__ void gradc_store_##KIND(gradc_##KIND *to, float x) {        \
        *to = gradc_to_##NAME(x);                                                          \
    }                                                                                      \
    __device__ __forceinline__ float gradc_round_##KIND(float x) {                         \
        return gradc_from_##NAME(gradc_to_##NAME(x));                                      \
    }
GRADC_HALF(f16, float16)
GRADC_HALF(bf16, bfloat16)

// ---- reductions over groups of threads and blocks
//
// The order of combination depends on the number of threads alone. All threads of the group or
// block take part and get the result. A block is one-dimensional, of whole warps.

struct gradc_sum {
    template <class Value>
    __device__ __forceinline__ Value operator()(Value x, Value y) const {
        return x + y;
    }
};

struct gradc_product {
    template <class Value>
    __device__ __forceinline__ Value operator()(Value x, Value y) const {
        return x * y;
    }
};

struct gradc_maximum {
    template <class Value>
    __device__ __forceinline__ Value operator()(Value x, Value y) const {
        return x > y || x != x ? x : y;
    }
};

struct gradc_minimum {
    template <class Value>
    __device__ __forceinline__ Value operator()(Value x, Value y) const {
        return x < y || x != x ? x : y;
    }
};

// A candidate of an argmax or argmin. Start from position INT64_MAX, which loses to all others.
template <class Value>
struct gradc_candidate {
    Value value;
    int64_t position;
};

// The better one by `Better`; a NaN wins; among equals the first.
template <class Better>
struct gradc_first {
    template <class Value>
    __device__ __forceinline__ gradc_candidate<Value> operator()(gradc_candidate<Value> x,
                                                            gradc_candidate<Value> y) const {
        const bool x_is_nan = x.value != x.value, y_is_nan = y.value != y.value;
        const bool tied = x_is_nan || y_is_nan ? x_is_nan && y_is_nan : x.value == y.value;
        if (tied) return x.position < y.position ? x : y;
        return x_is_nan || (!y_is_nan && Better()(x.value, y.value)) ? x : y;
    }
};

struct gradc_greater {
    template <class Value>
    __device__ __forceinline__ bool operator()(Value x, Value y) const {
        return x > y;
    }
};

struct gradc_less {
    template <class Value>
    __device__ __forceinline__ bool operator()(Value x, Value y) const {
        return x < y;
    }
};

using gradc_argmax = gradc_first<gradc_greater>;
using gradc_argmin = gradc_first<gradc_less>;

template <class Value>
__device__ __forceinline__ Value gradc_exchange(unsigned mask, Value value, int distance) {
    return static_cast<Value>(__shfl_xor_sync(mask, value, distance));
}

template <class Value>
__device__ __forceinline__ gradc_candidate<Value> gradc_exchange(unsigned mask,
                                                                gradc_candidate<Value> best,
                                                                int distance) {
    return {gradc_exchange(mask, best.value, distance),
            gradc_exchange(mask, best.position, distance)};
}

// Over WIDTH neighbours in a warp: 1, 2, 4, 8, 16 or 32 of them. Other groups need not take part.
template <int WIDTH, class Combine, class Value>
__device__ __forceinline__ Value gradc_group_reduce(Value value, Combine combine) {
    const unsigned all = 0xffffffffu >> (32 - WIDTH);
    const unsigned mask = all << (threadIdx.x % 32 / WIDTH * WIDTH);
    for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
        const Value other = gradc_exchange(mask, value, distance);
        // Both lanes of a pair combine in the same order, so all end with the same bits.
        const bool is_upper = (threadIdx.x & distance) != 0;
        value = is_upper ? combine(other, value) : combine(value, other);
    }
    return value;
}

template <class Combine, class Value>
__device__ __forceinline__ Value gradc_warp_reduce(Value value, Combine combine) {
    return gradc_group_reduce<32>(value, combine);
}

// `Value` may be any type that gradc_exchange knows; 32 partial results of it are shared.
template <class Combine, class Value>
__device__ __forceinline__ Value gradc_block_reduce(Value value, Combine combine) {
    constexpr int most_warps = 32;
    __shared__ Value partial[most_warps];
    value = gradc_warp_reduce(value, combine);
    if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = value;
    __syncthreads();
    Value result = partial[0];
    for (unsigned warp = 1; warp < blockDim.x / warpSize; ++warp)
        result = combine(result, partial[warp]);
    __syncthreads();  // before the next reduction of this type writes
    return result;
}

#endif  // GRADC_CUH
