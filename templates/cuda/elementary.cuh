// Elementary functions: those of CUDA, under the names that C has for its own, and sigmoid. It
// stands behind gradc.cuh.
#ifndef GRADC_ELEMENTARY_CUH
#define GRADC_ELEMENTARY_CUH

#define GRADC_MATH(NAME)                                                                         \
    __device__ __forceinline__ float gradc_##NAME##_f32(float x) { return NAME##f(x); }          \
    __device__ __forceinline__ double gradc_##NAME##_f64(double x) { return NAME(x); }
GRADC_MATH(exp)
GRADC_MATH(exp2)
GRADC_MATH(expm1)
GRADC_MATH(log)
GRADC_MATH(log2)
GRADC_MATH(log10)
GRADC_MATH(log1p)
GRADC_MATH(sinh)
GRADC_MATH(cosh)
GRADC_MATH(tanh)
GRADC_MATH(asinh)
GRADC_MATH(acosh)
GRADC_MATH(atanh)
GRADC_MATH(erf)

#define GRADC_SIGMOID(KIND, TYPE, SUFFIX)                                                     \
    __device__ __forceinline__ TYPE gradc_sigmoid_##KIND(TYPE x) {                         \
        const TYPE small = exp##SUFFIX(-fabs##SUFFIX(x)); /* never too large */            \
        return (x < 0 ? small : 1) / (1 + small);                                          \
    }
GRADC_SIGMOID(f32, float, f)
GRADC_SIGMOID(f64, double, )

#endif
