/* Lanes of functions of the math library, which glibc's libmvec holds, within 4 ulp. */
#ifndef GRADC_LANES_H
#define GRADC_LANES_H

#include <math.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define GRADC_LANES __attribute__((simd("notinbranch"), const, nothrow))
#define GRADC_VECTOR(name) extern double name(double) GRADC_LANES;
#define GRADC_VECTORS(name) \
    extern float name##f(float) GRADC_LANES; GRADC_VECTOR(name)
#define GRADC_VECTORS2(name)                        \
    extern double name(double, double) GRADC_LANES; \
    extern float name##f(float, float) GRADC_LANES;
GRADC_VECTOR(exp)
GRADC_VECTOR(exp2)
GRADC_VECTOR(expm1)
GRADC_VECTOR(log)
GRADC_VECTOR(log2)
GRADC_VECTOR(log10)
GRADC_VECTOR(log1p)
GRADC_VECTOR(sinh)
GRADC_VECTOR(cosh)
GRADC_VECTOR(tanh)
GRADC_VECTOR(asinh)
GRADC_VECTOR(acosh)
GRADC_VECTOR(atanh)
GRADC_VECTOR(erf)
GRADC_VECTORS(tan)
GRADC_VECTORS(asin)
GRADC_VECTORS(acos)
GRADC_VECTORS(atan)
GRADC_VECTORS(cbrt)
GRADC_VECTORS2(pow)
GRADC_VECTORS2(atan2)
GRADC_VECTORS2(hypot)
/* By other names: of a sine and a cosine of one number gcc makes one call, which has no lanes. */
#define GRADC_ALIASED(name, type) \
    extern type gradc_lanes_##name(type) __asm__(#name) GRADC_LANES;
#endif
#endif
#ifndef GRADC_ALIASED
#define GRADC_ALIASED(name, type) \
    static inline type gradc_lanes_##name(type x) { return name(x); }
#endif
GRADC_ALIASED(sin, double)
GRADC_ALIASED(cos, double)
GRADC_ALIASED(sinf, float)
GRADC_ALIASED(cosf, float)

#endif
