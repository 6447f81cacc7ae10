/* cross_entropy_sum: 6 rows of 10 elements */
static void k0_cross_entropy_sum(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    const int32_t *restrict const x2 = (const int32_t *)call->buffers[2];
    float *restrict const y0 = (float *)call->buffers[3];
    double *restrict const part0 = (double *)call->buffers[4] + chunk * 1;
    float *restrict const part1 = (float *)call->buffers[5];
    float *restrict const kept0 = (float *)call->buffers[6] + chunk * 10;
    gradc_error *const error = call->error;
    (void)chunk;
    double a0_sum = 0.0;
    for (int64_t column = 0; column < 10; ++column) {
        part1[column] = 0.0f;
    }

    for (int64_t r0 = 0; r0 < 6; ++r0) {
        float t0_sum = ((float)-INFINITY);
        float t0_part = ((float)-INFINITY);
#pragma omp simd reduction(gradc_max_f32 : t0_part)
        for (int64_t i0 = 0; i0 < 10; ++i0) {
            const float v3 = x0[10 * r0 + i0];
            const float v4 = x1[i0];
            const float v5 = v3 + v4;  // add
            t0_part = gradc_max_f32(t0_part, v5);
        }
        t0_sum = gradc_max_f32(t0_sum, t0_part);
        const float t0 = t0_sum;
        const float v6 = fabsf(t0);  // cross_entropy: abs
        const bool v7 = v6 == ((float)INFINITY);  // cross_entropy: eq
        const float v8 = v7 ? 0.0f : t0;  // cross_entropy: where
        const int32_t v12 = x2[r0];
        // cross_entropy: checked_index
        const int32_t v13 = (int32_t)gradc_place(error, 0, r0, v12, 0, 10);
        double t1_sum = 0.0;
        double t2_sum = 0.0;
        float t1_part = 0.0f;
        float t2_part = 0.0f;
#pragma omp simd reduction(+ : t1_part) reduction(+ : t2_part)
        for (int64_t i0 = 0; i0 < 10; ++i0) {
            const float v3 = x0[10 * r0 + i0];
            const float v4 = x1[i0];
            const float v5 = v3 + v4;  // add
            const float v9 = v5 - v8;  // cross_entropy: sub
            const float v10 = gradc_exp_f32(v9);  // cross_entropy: exp
            const int32_t v11 = (int32_t)(i0);
            const bool v14 = v11 == v13;  // cross_entropy: eq
            const float v15 = v14 ? v9 : 0.0f;  // cross_entropy: where
            t1_part = t1_part + v10;
            t2_part = t2_part + v15;
            kept0[i0] = v10;
        }
        t1_sum = t1_sum + (double)t1_part;
        t2_sum = t2_sum + (double)t2_part;
        const float t1 = (float)t1_sum;
        const float t2 = (float)t2_sum;
        const float v16 = gradc_log_f32(t1);  // cross_entropy: log
        const float v17 = v16 - t2;  // cross_entropy: sub
        const float v19 = 0.16666667f / t1;  // cross_entropy: div
        a0_sum = a0_sum + (double)v17;
#pragma omp simd
        for (int64_t i0 = 0; i0 < 10; ++i0) {
            const int32_t v11 = (int32_t)(i0);
            const bool v14 = v11 == v13;  // cross_entropy: eq
            const float v18 = v14 ? (-0.16666667f) : 0.0f;  // cross_entropy: where
            const float v10 = kept0[i0];
            const float v20 = v19 * v10;  // cross_entropy: mul
            const float v21 = v18 + v20;  // cross_entropy: add
            y0[10 * r0 + i0] = v21;
            part1[i0] = part1[i0] + v21;
        }
    }
    part0[0] = a0_sum;
}

/* cross_entropy_combine: 1 results of 1 shares */
static void k1_cross_entropy_combine(void *context, int64_t only)
{
    const gradc_call *const call = context;
    const double *restrict const part = (const double *)call->buffers[0];
    float *restrict const y = (float *)call->buffers[1];
    (void)only;
    for (int64_t column = 0; column < 1; ++column) {
        double total = 0.0;
        for (int64_t chunk = 0; chunk < 1; ++chunk) {
            total = total + (double)part[chunk * 1 + column];
        }
        y[column] = (float)total;
    }
}

/* cross_entropy: 1 row of 1 element */
static void k2_cross_entropy(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    float *restrict const y0 = (float *)call->buffers[1];
    (void)chunk;

    const float v0 = x0[0];
    const float v1 = v0 / 6.0f;  // cross_entropy: div
    y0[0] = v1;
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    char *const arena = buffers[6];
    error->code = GRADC_FINE;

    { // cross_entropy_sum
        void *const pointers[] = { buffers[0], buffers[1], buffers[2], buffers[4], arena + 0,
            buffers[5], arena + 64 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_cross_entropy_sum((void *)&call, 0);
    }
    { // cross_entropy_combine
        void *const pointers[] = { arena + 0, arena + 128 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_cross_entropy_combine((void *)&call, 0);
    }
    { // cross_entropy
        void *const pointers[] = { arena + 128, buffers[3] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k2_cross_entropy((void *)&call, 0);
    }
    return error->code;
}
