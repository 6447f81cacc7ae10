/* take: 7 rows of 4 elements */
static void k0_take(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const int32_t *restrict const x0 = (const int32_t *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    gradc_error *const error = call->error;
    (void)chunk;

    for (int64_t r0 = 0; r0 < 7; ++r0) {
        const int32_t v0 = x0[r0];
        const int32_t v1 = (int32_t)gradc_place(error, 0, r0, v0, -10, 10);  // checked_index
#pragma omp simd
        for (int64_t i0 = 0; i0 < 4; ++i0) {
            const float v2 = x1[i0 + 4 * (int64_t)v1];
            y0[4 * r0 + i0] = v2;
        }
    }
}

/* scatter_add: 1 row of 40 elements */
static void k1_scatter_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    float *restrict const y0 = (float *)call->buffers[0];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 40; ++i0) {
        y0[i0] = 0.0f;
    }
}

/* scatter_add: 7 rows of 4 elements */
static void k2_scatter_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    float *restrict const y0 = (float *)call->buffers[0];
    const int32_t *restrict const x0 = (const int32_t *)call->buffers[1];
    const float *restrict const x1 = (const float *)call->buffers[2];
    gradc_error *const error = call->error;
    (void)chunk;

    for (int64_t r0 = 0; r0 < 7; ++r0) {
        const int32_t v0 = x0[r0];
        const int32_t v1 = (int32_t)gradc_place(error, 0, r0, v0, -10, 10);  // checked_index
#pragma omp simd
        for (int64_t i0 = 0; i0 < 4; ++i0) {
            const float v2 = x1[4 * r0 + i0];
            y0[i0 + 4 * (int64_t)v1] += v2;
        }
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // take
        void *const pointers[] = { buffers[1], buffers[0], buffers[3] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_take((void *)&call, 0);
    }
    { // scatter_add
        void *const pointers[] = { buffers[4] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_scatter_add((void *)&call, 0);
    }
    { // scatter_add
        void *const pointers[] = { buffers[4], buffers[1], buffers[2] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k2_scatter_add((void *)&call, 0);
    }
    return error->code;
}
