/* sum_add: 1 row of 3000 elements */
static void k0_sum_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    float *restrict const y1 = (float *)call->buffers[3];
    float *restrict const y2 = (float *)call->buffers[4];
    (void)chunk;

    double t0_sum = 0.0;
    for (int64_t block = 0; block < 3000; block += 512) {
        const int64_t stop = block + 512 < 3000 ? block + 512 : 3000;
        float t0_part = 0.0f;
        GRADC_LINED float between0[512];
        GRADC_LINED float between1[512];
        GRADC_LINED float between2[512];
        GRADC_LINED float between3[512];
        GRADC_LINED float between4[512];
        GRADC_LINED float between5[512];
        GRADC_LINED float between6[512];
        GRADC_LINED float between7[512];
        GRADC_LINED float between8[512];
#pragma omp simd
        for (int64_t i0 = block; i0 < stop; ++i0) {
            const float v1 = x0[i0];
            const float v2 = x1[i0];
            const float v3 = v1 * v2;  // mul
            const float v4 = gradc_tanh_f32(v3);  // tanh
            between0[i0 - block] = v4;
        }
#pragma omp simd
        for (int64_t i0 = block; i0 < stop; ++i0) {
            const float v4 = between0[i0 - block];
            const float v5 = v4 * v4;  // mul
            const float v6 = v5 + 1.0f;  // add
            const float v7 = -v6;  // neg
            const float v8 = gradc_exp_f32(v7);  // exp
            between1[i0 - block] = v8;
        }
#pragma omp simd
        for (int64_t i0 = block; i0 < stop; ++i0) {
            const float v8 = between1[i0 - block];
            const float v1 = x0[i0];
            const float v9 = v8 * v1;  // mul
            const float v10 = -v9;  // neg
            const float v11 = gradc_exp_f32(v10);  // exp
            between2[i0 - block] = v11;
        }
#pragma omp simd
        for (int64_t i0 = block; i0 < stop; ++i0) {
            const float v4 = between0[i0 - block];
            const float v11 = between2[i0 - block];
            const float v2 = x1[i0];
            const float v5 = v4 * v4;  // mul
            const float v12 = v11 + 1.0f;  // add
            const float v13 = 1.0f / v12;  // div
            const float v14 = v13 * v4;  // mul
            const float v15 = v14 - v2;  // sub
            const float v16 = v15 * v15;  // mul
            const float v17 = v5 + 1.5f;  // add
            const float v18 = v16 / v17;  // div
            const float v19 = v18 + 1.0f;  // add
            const float v20 = gradc_log_f32(v19);  // log
            between3[i0 - block] = v15;
            between4[i0 - block] = v18;
            between5[i0 - block] = v19;
            between6[i0 - block] = v20;
        }
#pragma omp simd
        for (int64_t i0 = block; i0 < stop; ++i0) {
            const float v20 = between6[i0 - block];
            const float v1 = x0[i0];
            const float v21 = v20 + 0.001f;  // add
            const float v22 = sqrtf(v21);  // sqrt
            const float v23 = gradc_tanh_f32(v22);  // tanh
            const float v25 = v22 * v1;  // mul
            const float v26 = v25 * 0.1f;  // mul
            between7[i0 - block] = v23;
            between8[i0 - block] = v26;
        }
#pragma omp simd reduction(+ : t0_part)
        for (int64_t i0 = block; i0 < stop; ++i0) {
            const float v4 = between0[i0 - block];
            const float v8 = between1[i0 - block];
            const float v11 = between2[i0 - block];
            const float v15 = between3[i0 - block];
            const float v18 = between4[i0 - block];
            const float v19 = between5[i0 - block];
            const float v20 = between6[i0 - block];
            const float v23 = between7[i0 - block];
            const float v26 = between8[i0 - block];
            const float v1 = x0[i0];
            const float v2 = x1[i0];
            const float v5 = v4 * v4;  // mul
            const float v12 = v11 + 1.0f;  // add
            const float v13 = 1.0f / v12;  // div
            const float v17 = v5 + 1.5f;  // add
            const float v21 = v20 + 0.001f;  // add
            const float v22 = sqrtf(v21);  // sqrt
            const float v24 = v23 * 0.5f;  // mul
            const float v27 = v24 + v26;  // add
            const float v28 = 0.1f * v22;  // mul
            const float v29 = 0.1f * v1;  // mul
            const float v30 = v23 * v23;  // mul
            const float v31 = 1.0f - v30;  // sub
            const float v32 = 0.5f * v31;  // mul
            const float v33 = v29 + v32;  // add
            const float v34 = 0.5f * v33;  // mul
            const float v35 = v34 / v22;  // div
            const float v36 = v35 / v19;  // div
            const float v37 = v36 / v17;  // div
            const float v38 = v37 * v15;  // mul
            const float v39 = v38 + v38;  // add
            const float v40 = v39 * v4;  // mul
            const float v41 = v40 / v12;  // div
            const float v42 = -v41;  // neg
            const float v43 = v42 * v13;  // mul
            const float v44 = v43 * v11;  // mul
            const float v45 = -v44;  // neg
            const float v46 = v45 * v8;  // mul
            const float v47 = v28 + v46;  // add
            const float v48 = v39 * v13;  // mul
            const float v49 = -v37;  // neg
            const float v50 = v49 * v18;  // mul
            const float v51 = v45 * v1;  // mul
            const float v52 = v51 * v8;  // mul
            const float v53 = -v52;  // neg
            const float v54 = v50 + v53;  // add
            const float v55 = v54 * v4;  // mul
            const float v56 = v48 + v55;  // add
            const float v57 = v56 + v55;  // add
            const float v58 = 1.0f - v5;  // sub
            const float v59 = v57 * v58;  // mul
            const float v60 = v59 * v2;  // mul
            const float v61 = v47 + v60;  // add
            const float v62 = -v39;  // neg
            const float v63 = v59 * v1;  // mul
            const float v64 = v62 + v63;  // add
            t0_part = t0_part + v27;
            y1[i0] = v61;
            y2[i0] = v64;
        }
        t0_sum = t0_sum + (double)t0_part;
    }
    const float t0 = (float)t0_sum;
    y0[0] = t0;
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // sum_add
        void *const pointers[] = { buffers[0], buffers[1], buffers[2], buffers[3], buffers[4] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_sum_add((void *)&call, 0);
    }
    return error->code;
}
