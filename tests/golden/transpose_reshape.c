/* mul: 2 x 3 x 5 rows of 4 elements */
static void k0_mul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    float *restrict const y0 = (float *)call->buffers[1];
    (void)chunk;

    for (int64_t row = 0; row < 30; ++row) {
        const int64_t r0 = row / 15;
        const int64_t r1 = row / 5 % 3;
        const int64_t r2 = row % 5;
#pragma omp simd
        for (int64_t i0 = 0; i0 < 4; ++i0) {
            const float v0 = x0[60 * r0 + 4 * r1 + 12 * r2 + i0];
            const float v1 = v0 * 0.5f;  // mul
            y0[60 * r0 + 20 * r1 + 4 * r2 + i0] = v1;
        }
    }
}

/* add: 1 row of 120 elements */
static void k1_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    float *restrict const y0 = (float *)call->buffers[1];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 120; ++i0) {
        const float v0 = x0[i0];
        const float v1 = gradc_exp_f32(v0);  // exp
        const float v2 = v1 + v0;  // add
        y0[i0] = v2;
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // mul
        void *const pointers[] = { buffers[0], buffers[1] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_mul((void *)&call, 0);
    }
    { // add
        void *const pointers[] = { buffers[0], buffers[2] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_add((void *)&call, 0);
    }
    return error->code;
}
