/* exp_sum: 4 rows of 30 elements */
static void k0_exp_sum(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const gradc_f16 *restrict const x0 = (const gradc_f16 *)call->buffers[0];
    const gradc_bf16 *restrict const x1 = (const gradc_bf16 *)call->buffers[1];
    gradc_f16 *restrict const y0 = (gradc_f16 *)call->buffers[2];
    gradc_f16 *restrict const y1 = (gradc_f16 *)call->buffers[3];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 4; ++r0) {
        float t0_sum = 0.0f;
        float t0_part = 0.0f;
#pragma omp simd reduction(+ : t0_part)
        for (int64_t i0 = 0; i0 < 30; ++i0) {
            const float v1 = gradc_load_f16(x0 + 30 * r0 + i0);
            const float v2 = gradc_load_bf16(x1 + i0);
            const float v3 = gradc_round_f16((float)v2);  // cast
            const float v4 = gradc_round_f16(v1 * v3);  // mul
            const float v5 = gradc_round_f16(gradc_exp_f32(v4));  // exp
            gradc_store_f16(y0 + 30 * r0 + i0, v5);
            t0_part = t0_part + v4;
        }
        t0_sum = t0_sum + (float)t0_part;
        const float t0 = t0_sum;
        gradc_store_f16(y1 + r0, t0);
    }
}

/* sum: 1 row of 30 elements */
static void k1_sum(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const gradc_bf16 *restrict const x0 = (const gradc_bf16 *)call->buffers[0];
    gradc_bf16 *restrict const y0 = (gradc_bf16 *)call->buffers[1];
    (void)chunk;

    float t0_sum = 0.0f;
    float t0_part = 0.0f;
#pragma omp simd reduction(+ : t0_part)
    for (int64_t i0 = 0; i0 < 30; ++i0) {
        const float v1 = gradc_load_bf16(x0 + i0);
        const float v2 = gradc_round_bf16(v1 * v1);  // mul
        t0_part = t0_part + v2;
    }
    t0_sum = t0_sum + (float)t0_part;
    const float t0 = t0_sum;
    gradc_store_bf16(y0 + 0, t0);
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // exp_sum
        void *const pointers[] = { buffers[0], buffers[1], buffers[2], buffers[3] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_exp_sum((void *)&call, 0);
    }
    { // sum
        void *const pointers[] = { buffers[1], buffers[4] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_sum((void *)&call, 0);
    }
    return error->code;
}
