// Elementwise kernels: one thread per element, or a grid-stride loop.

extern "C" __global__ void axpy(GRADC_KERNEL_PARAMETERS) {
    const float *__restrict__ x = static_cast<const float *>(buffers[0]);
    float *__restrict__ y = static_cast<float *>(buffers[1]);
    const float a = static_cast<float>(floats[0]);
    for (int64_t i = gradc_thread(); i < ints[0]; i += gradc_thread_count()) y[i] += a * x[i];
}

extern "C" __global__ void gelu(GRADC_KERNEL_PARAMETERS) {
    const float *x = static_cast<const float *>(buffers[0]);
    float *y = static_cast<float *>(buffers[1]);
    const int64_t i = gradc_thread();
    if (i < ints[0]) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * rsqrtf(2.0f)));
}

// The numbers of every operator function: buffers x, y and, one after another, the four results.
#define OPERATOR_FUNCTIONS(KIND, TYPE)                                                \
    extern "C" __global__ void operators_##KIND(GRADC_KERNEL_PARAMETERS) {            \
        const TYPE *x = static_cast<const TYPE *>(buffers[0]);                        \
        const TYPE *y = static_cast<const TYPE *>(buffers[1]);                        \
        TYPE *results = static_cast<TYPE *>(buffers[2]);                              \
        const int64_t i = gradc_thread(), count = ints[0];                            \
        if (i >= count) return;                                                       \
        results[i] = gradc_floordiv_##KIND(x[i], y[i]);                               \
        results[i + count] = gradc_mod_##KIND(x[i], y[i]);                            \
        results[i + 2 * count] = gradc_max_##KIND(x[i], y[i]);                        \
        results[i + 3 * count] = gradc_min_##KIND(x[i], y[i]);                        \
    }
OPERATOR_FUNCTIONS(i32, int32_t)
OPERATOR_FUNCTIONS(i64, int64_t)
OPERATOR_FUNCTIONS(f32, float)
OPERATOR_FUNCTIONS(f64, double)

#define INTEGER_FUNCTIONS(KIND, TYPE)                                                 \
    extern "C" __global__ void integer_functions_##KIND(GRADC_KERNEL_PARAMETERS) {    \
        const TYPE *x = static_cast<const TYPE *>(buffers[0]);                        \
        const TYPE *y = static_cast<const TYPE *>(buffers[1]);                        \
        TYPE *results = static_cast<TYPE *>(buffers[2]);                              \
        const int64_t i = gradc_thread(), count = ints[0];                            \
        if (i >= count) return;                                                       \
        results[i] = gradc_pow_##KIND(x[i], y[i]);                                    \
        results[i + count] = gradc_shift_left_##KIND(x[i], y[i]);                     \
        results[i + 2 * count] = gradc_shift_right_##KIND(x[i], y[i]);                \
    }
INTEGER_FUNCTIONS(i32, int32_t)
INTEGER_FUNCTIONS(i64, int64_t)

#define FLOAT_FUNCTIONS(KIND, TYPE)                                                   \
    extern "C" __global__ void float_functions_##KIND(GRADC_KERNEL_PARAMETERS) {      \
        const TYPE *x = static_cast<const TYPE *>(buffers[0]);                        \
        const TYPE *y = static_cast<const TYPE *>(buffers[1]);                        \
        const int64_t i = gradc_thread();                                             \
        if (i >= ints[0]) return;                                                     \
        static_cast<TYPE *>(buffers[2])[i] = gradc_logaddexp_##KIND(x[i], y[i]);      \
        static_cast<uint8_t *>(buffers[3])[i] = gradc_to_u8_##KIND(x[i]);             \
        static_cast<int8_t *>(buffers[4])[i] = gradc_to_i8_##KIND(x[i]);              \
        static_cast<int16_t *>(buffers[5])[i] = gradc_to_i16_##KIND(x[i]);            \
        static_cast<int32_t *>(buffers[6])[i] = gradc_to_i32_##KIND(x[i]);            \
        static_cast<int64_t *>(buffers[7])[i] = gradc_to_i64_##KIND(x[i]);            \
    }
FLOAT_FUNCTIONS(f32, float)
FLOAT_FUNCTIONS(f64, double)

extern "C" __global__ void halves_to_float(GRADC_KERNEL_PARAMETERS) {
    const uint16_t *bits = static_cast<const uint16_t *>(buffers[0]);
    const int64_t i = gradc_thread();
    if (i >= ints[0]) return;
    static_cast<float *>(buffers[1])[i] = gradc_from_float16(bits[i]);
    static_cast<float *>(buffers[2])[i] = gradc_from_bfloat16(bits[i]);
}

extern "C" __global__ void float_to_halves(GRADC_KERNEL_PARAMETERS) {
    const float *x = static_cast<const float *>(buffers[0]);
    const int64_t i = gradc_thread();
    if (i >= ints[0]) return;
    static_cast<uint16_t *>(buffers[1])[i] = gradc_to_float16(x[i]);
    static_cast<uint16_t *>(buffers[2])[i] = gradc_to_bfloat16(x[i]);
}

// Two kernels of a checked gather: the first reports an index out of range, the second then writes
// nothing.
extern "C" __global__ void check_indices(GRADC_KERNEL_PARAMETERS) {
    const int32_t *indices = static_cast<const int32_t *>(buffers[0]);
    const int64_t i = gradc_thread();
    if (i < ints[0] && (indices[i] < 0 || indices[i] >= ints[1]))
        gradc_report(error, 1, 7, i, indices[i], ints[1]);
}

extern "C" __global__ void gather(GRADC_KERNEL_PARAMETERS) {
    if (gradc_failed(error)) return;
    const int32_t *indices = static_cast<const int32_t *>(buffers[0]);
    const float *x = static_cast<const float *>(buffers[1]);
    float *y = static_cast<float *>(buffers[2]);
    const int64_t i = gradc_thread();
    if (i < ints[0]) y[i] = x[indices[i]];
}
