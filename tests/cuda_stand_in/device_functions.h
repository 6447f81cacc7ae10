// Functions that CUDA has and the C++ library lacks: atomics, bits, intrinsics, vector types.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include <math.h>
#include <stdlib.h>

// ---- atomics: device threads never run at the same time, so plain code is atomic

template <class Value, class Change>
Value simt_exchange(Value *address, Change change) {
    const Value old = *address;
    *address = change(old);
    return old;
}

#define SIMT_ATOMIC(NAME, TYPE, CHANGED)                                      \
    inline TYPE NAME(TYPE *address, TYPE value) {                             \
        return simt_exchange(address, [=](TYPE old) -> TYPE { return CHANGED; }); \
    }
#define SIMT_ATOMIC_INTEGERS(NAME, CHANGED)          \
    SIMT_ATOMIC(NAME, int, CHANGED)                  \
    SIMT_ATOMIC(NAME, unsigned, CHANGED)             \
    SIMT_ATOMIC(NAME, unsigned long long, CHANGED)

SIMT_ATOMIC_INTEGERS(atomicAdd, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int, old - value)
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
SIMT_ATOMIC(atomicMax, long long, old > value ? old : value)
SIMT_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
SIMT_ATOMIC(atomicMin, long long, old < value ? old : value)
SIMT_ATOMIC_INTEGERS(atomicAnd, old & value)
SIMT_ATOMIC_INTEGERS(atomicOr, old | value)
SIMT_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIMT_ATOMIC_INTEGERS(atomicExch, (static_cast<void>(old), value))
SIMT_ATOMIC(atomicExch, float, (static_cast<void>(old), value))

template <class Value>
Value simt_compare_and_swap(Value *address, Value expected, Value value) {
    return simt_exchange(address, [=](Value old) { return old == expected ? value : old; });
}
inline int atomicCAS(int *address, int expected, int value) {
    return simt_compare_and_swap(address, expected, value);
}
inline unsigned atomicCAS(unsigned *address, unsigned expected, unsigned value) {
    return simt_compare_and_swap(address, expected, value);
}
inline unsigned long long atomicCAS(unsigned long long *address, unsigned long long expected,
                                    unsigned long long value) {
    return simt_compare_and_swap(address, expected, value);
}

inline void __threadfence() {}
inline void __threadfence_block() {}

// ---- bits

template <class To, class From>
To simt_same_bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}
inline int __float_as_int(float x) { return simt_same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return simt_same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return simt_same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return simt_same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return simt_same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return simt_same_bits<double>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<unsigned long long>(static_cast<Wide>(x) * y >> 64);
}

// ---- arithmetic. glibc declares some of these names for itself, so they are macros.

#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __powf(x, y) powf(x, y)
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float sinpif(float x) { return static_cast<float>(std::sin(3.14159265358979323846 * x)); }
inline float cospif(float x) { return static_cast<float>(std::cos(3.14159265358979323846 * x)); }
template <class Value>
Value __ldg(const Value *address) {
    return *address;
}

#define SIMT_EXTREMES(TYPE)                                  \
    inline TYPE min(TYPE x, TYPE y) { return y < x ? y : x; } \
    inline TYPE max(TYPE x, TYPE y) { return x < y ? y : x; }
SIMT_EXTREMES(int)
SIMT_EXTREMES(unsigned)
SIMT_EXTREMES(long)
SIMT_EXTREMES(long long)
SIMT_EXTREMES(unsigned long long)
inline float min(float x, float y) { return std::fmin(x, y); }
inline float max(float x, float y) { return std::fmax(x, y); }
inline double min(double x, double y) { return std::fmin(x, y); }
inline double max(double x, double y) { return std::fmax(x, y); }

// ---- vector types

#define SIMT_VECTORS(TYPE, NAME)                                                        \
    struct alignas(2 * sizeof(TYPE)) NAME##2 { TYPE x, y; };                            \
    struct alignas(sizeof(TYPE) == 8 ? 16 : 4 * sizeof(TYPE)) NAME##4 { TYPE x, y, z, w; }; \
    inline NAME##2 make_##NAME##2(TYPE x, TYPE y) { return {x, y}; }                    \
    inline NAME##4 make_##NAME##4(TYPE x, TYPE y, TYPE z, TYPE w) { return {x, y, z, w}; }
SIMT_VECTORS(int, int)
SIMT_VECTORS(unsigned, uint)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(unsigned char, uchar)
