/* The elementary functions over arrays, for tests. Built with gradc.h and elementary.h before it. */

#define EXPORT __attribute__((visibility("default")))

#define OVER(name)                                                                                \
    EXPORT void run_##name(int64_t n, const float *restrict x, float *restrict y)                 \
    {                                                                                             \
        _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) y[i] = gradc_##name##_f32(x[i]);      \
    }                                                                                             \
    EXPORT void one_##name(const float *x, float *y) { *y = gradc_##name##_f32(*x); }
OVER(exp)
OVER(exp2)
OVER(expm1)
OVER(sigmoid)
OVER(log)
OVER(log2)
OVER(log10)
OVER(log1p)
OVER(sinh)
OVER(cosh)
OVER(tanh)
OVER(asinh)
OVER(acosh)
OVER(atanh)
OVER(erf)
