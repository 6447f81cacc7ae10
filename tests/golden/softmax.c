/* softmax: 6 rows of 40 elements */
static void k0_softmax(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    float *restrict const y1 = (float *)call->buffers[3];
    float *restrict const kept0 = (float *)call->buffers[4] + chunk * 40;
    (void)chunk;

    for (int64_t r0 = 0; r0 < 6; ++r0) {
        float t0_sum = ((float)-INFINITY);
        float t0_part = ((float)-INFINITY);
#pragma omp simd reduction(gradc_max_f32 : t0_part)
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v3 = x0[40 * r0 + i0];
            t0_part = gradc_max_f32(t0_part, v3);
        }
        t0_sum = gradc_max_f32(t0_sum, t0_part);
        const float t0 = t0_sum;
        const float v4 = fabsf(t0);  // softmax: abs
        const bool v5 = v4 == ((float)INFINITY);  // softmax: eq
        const float v6 = v5 ? 0.0f : t0;  // softmax: where
        double t1_sum = 0.0;
        float t1_part = 0.0f;
#pragma omp simd reduction(+ : t1_part)
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v3 = x0[40 * r0 + i0];
            const float v7 = v3 - v6;  // softmax: sub
            const float v8 = gradc_exp_f32(v7);  // softmax: exp
            t1_part = t1_part + v8;
            kept0[i0] = v8;
        }
        t1_sum = t1_sum + (double)t1_part;
        const float t1 = (float)t1_sum;
        double t2_sum = 0.0;
        float t2_part = 0.0f;
#pragma omp simd reduction(+ : t2_part)
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v8 = kept0[i0];
            const float v9 = v8 / t1;  // softmax: div
            const float v10 = x1[40 * r0 + i0];
            const float v11 = v10 / t1;  // softmax: div
            const float v12 = -v11;  // softmax: neg
            const float v13 = v12 * v9;  // softmax: mul
            y0[40 * r0 + i0] = v9;
            t2_part = t2_part + v13;
        }
        t2_sum = t2_sum + (double)t2_part;
        const float t2 = (float)t2_sum;
#pragma omp simd
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v10 = x1[40 * r0 + i0];
            const float v11 = v10 / t1;  // softmax: div
            const float v14 = v11 + t2;  // softmax: add
            const float v8 = kept0[i0];
            const float v15 = v14 * v8;  // softmax: mul
            y1[40 * r0 + i0] = v15;
        }
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    char *const arena = buffers[4];
    error->code = GRADC_FINE;

    { // softmax
        void *const pointers[] = { buffers[0], buffers[1], buffers[2], buffers[3], arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_softmax((void *)&call, 0);
    }
    return error->code;
}
