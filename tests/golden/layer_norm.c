/* layer_norm: 6 rows of 40 elements */
static void k0_layer_norm(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    const float *restrict const x2 = (const float *)call->buffers[2];
    const float *restrict const x3 = (const float *)call->buffers[3];
    float *restrict const y0 = (float *)call->buffers[4];
    float *restrict const y1 = (float *)call->buffers[5];
    float *restrict const part0 = (float *)call->buffers[6];
    float *restrict const part1 = (float *)call->buffers[7];
    float *restrict const kept0 = (float *)call->buffers[8] + chunk * 40;
    (void)chunk;
    for (int64_t column = 0; column < 40; ++column) {
        part0[column] = 0.0f;
    }
    for (int64_t column = 0; column < 40; ++column) {
        part1[column] = 0.0f;
    }

    for (int64_t r0 = 0; r0 < 6; ++r0) {
        double t0_sum = 0.0;
        float t0_part = 0.0f;
#pragma omp simd reduction(+ : t0_part)
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v4 = x0[40 * r0 + i0];
            const float v5 = x1[40 * r0 + i0];
            t0_part = t0_part + v4;
            part0[i0] = part0[i0] + v5;
        }
        t0_sum = t0_sum + (double)t0_part;
        const float t0 = (float)t0_sum;
        const float v6 = t0 / 40.0f;  // layer_norm: div
        double t1_sum = 0.0;
        double t2_sum = 0.0;
        float t1_part = 0.0f;
        float t2_part = 0.0f;
#pragma omp simd reduction(+ : t1_part) reduction(+ : t2_part)
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v4 = x0[40 * r0 + i0];
            const float v7 = v4 - v6;  // layer_norm: sub
            const float v8 = v7 * v7;  // layer_norm: mul
            const float v5 = x1[40 * r0 + i0];
            const float v9 = x2[i0];
            const float v10 = v5 * v9;  // layer_norm: mul
            const float v11 = v10 * v7;  // layer_norm: mul
            t1_part = t1_part + v8;
            t2_part = t2_part + v11;
        }
        t1_sum = t1_sum + (double)t1_part;
        t2_sum = t2_sum + (double)t2_part;
        const float t1 = (float)t1_sum;
        const float t2 = (float)t2_sum;
        const float v12 = t1 / 40.0f;  // layer_norm: div
        const float v13 = v12 + 1e-05f;  // layer_norm: add
        const float v14 = (float)1 / sqrtf(v13);  // layer_norm: rsqrt
        const float v20 = (-0.5f) * t2;  // layer_norm: mul
        const float v21 = v20 * v14;  // layer_norm: mul
        const float v22 = v21 / v13;  // layer_norm: div
        const float v23 = v22 / 40.0f;  // layer_norm: div
        double t3_sum = 0.0;
        float t3_part = 0.0f;
#pragma omp simd reduction(+ : t3_part)
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v4 = x0[40 * r0 + i0];
            const float v7 = v4 - v6;  // layer_norm: sub
            const float v15 = v7 * v14;  // layer_norm: mul
            const float v9 = x2[i0];
            const float v16 = v15 * v9;  // layer_norm: mul
            const float v17 = x3[i0];
            const float v18 = v16 + v17;  // layer_norm: add
            const float v5 = x1[40 * r0 + i0];
            const float v10 = v5 * v9;  // layer_norm: mul
            const float v19 = v10 * v14;  // layer_norm: mul
            const float v24 = v23 * v7;  // layer_norm: mul
            const float v25 = v19 + v24;  // layer_norm: add
            const float v26 = v25 + v24;  // layer_norm: add
            const float v27 = -v26;  // layer_norm: neg
            const float v28 = v5 * v15;  // layer_norm: mul
            y0[40 * r0 + i0] = v18;
            t3_part = t3_part + v27;
            part1[i0] = part1[i0] + v28;
            kept0[i0] = v25;
        }
        t3_sum = t3_sum + (double)t3_part;
        const float t3 = (float)t3_sum;
        const float v29 = t3 / 40.0f;  // layer_norm: div
#pragma omp simd
        for (int64_t i0 = 0; i0 < 40; ++i0) {
            const float v25 = kept0[i0];
            const float v4 = x0[40 * r0 + i0];
            const float v7 = v4 - v6;  // layer_norm: sub
            const float v24 = v23 * v7;  // layer_norm: mul
            const float v26 = v25 + v24;  // layer_norm: add
            const float v30 = v26 + v29;  // layer_norm: add
            y1[40 * r0 + i0] = v30;
        }
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    char *const arena = buffers[8];
    error->code = GRADC_FINE;

    { // layer_norm
        void *const pointers[] = { buffers[0], buffers[3], buffers[1], buffers[2], buffers[4],
            buffers[5], buffers[7], buffers[6], arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_layer_norm((void *)&call, 0);
    }
    return error->code;
}
