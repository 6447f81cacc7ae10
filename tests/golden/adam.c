/* add_sub: 1 row of 100 elements */
static void k0_add_sub(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    const float *restrict const x2 = (const float *)call->buffers[2];
    const float *restrict const x3 = (const float *)call->buffers[3];
    float *restrict const y0 = (float *)call->buffers[4];
    float *restrict const y1 = (float *)call->buffers[5];
    float *restrict const y2 = (float *)call->buffers[6];
    const double *const floats = call->floats;
    const int64_t *const ints = call->ints;
    (void)floats, (void)ints;
    const float s1_float32 = (float)floats[1];
    const float s3_float32 = (float)floats[3];
    const float s2_float32 = (float)floats[2];
    const float s0_float32 = (float)floats[0];
    const float s4_float32 = (float)floats[4];
    (void)chunk;

    const float v2 = 1.0f - s1_float32;  // sub
    const float v8 = 1.0f - s3_float32;  // sub
#pragma omp simd
    for (int64_t i0 = 0; i0 < 100; ++i0) {
        const float v0 = x0[i0];
        const float v1 = s1_float32 * v0;  // mul
        const float v3 = x1[i0];
        const float v4 = v2 * v3;  // mul
        const float v5 = v1 + v4;  // add
        const float v6 = x2[i0];
        const float v7 = s3_float32 * v6;  // mul
        const float v9 = v3 * v3;  // mul
        const float v10 = v8 * v9;  // mul
        const float v11 = v7 + v10;  // add
        const float v12 = x3[i0];
        const float v13 = v5 / s2_float32;  // div
        const float v14 = s0_float32 * v13;  // mul
        const float v15 = v11 / s4_float32;  // div
        const float v16 = sqrtf(v15);  // sqrt
        const float v17 = v16 + 1e-08f;  // add
        const float v18 = v14 / v17;  // div
        const float v19 = v12 - v18;  // sub
        y0[i0] = v5;
        y1[i0] = v11;
        y2[i0] = v19;
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // add_sub
        void *const pointers[] = { buffers[1], buffers[2], buffers[3], buffers[0], buffers[5],
            buffers[6], buffers[4] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_add_sub((void *)&call, 0);
    }
    return error->code;
}
