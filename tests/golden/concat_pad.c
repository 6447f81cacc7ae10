/* pad: 5 rows of 8 elements */
static void k0_pad(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    double *restrict const y0 = (double *)call->buffers[2];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 5; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 8; ++i0) {
            const double v0 = r0 - 1 >= 0 && r0 - 1 < 3 && i0 - 1 >= 0 && i0 - 1 < 6 && (i0 - 1) <
                4 ? x0[4 * (r0 - 1) + ((i0 - 1))] : 0;
            const double v1 = v0 * v0;  // mul
            const double v2 = r0 - 1 >= 0 && r0 - 1 < 3 && i0 - 1 >= 0 && i0 - 1 < 6 && (i0 - 1) -
                4 >= 0 ? x1[2 * (r0 - 1) + ((i0 - 1) - 4)] : 0;
            const double v3 = (i0 - 1) < 4 ? v1 : v2;
            const double v4 = r0 - 1 >= 0 && r0 - 1 < 3 && i0 - 1 >= 0 && i0 - 1 < 6 ? v3 : 0.0;
            y0[8 * r0 + i0] = v4;
        }
    }
}

/* add: 3 rows of 4 elements */
static void k1_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    double *restrict const y0 = (double *)call->buffers[2];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 3; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 4; ++i0) {
            const double v0 = x0[8 * r0 + i0];
            const double v1 = x1[4 * r0 + i0];
            const double v2 = v0 * v1;  // mul
            const double v3 = v2 + v2;  // add
            y0[4 * r0 + i0] = v3;
        }
    }
}

/* slice: 3 rows of 2 elements */
static void k2_slice(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    double *restrict const y0 = (double *)call->buffers[1];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 3; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 2; ++i0) {
            const double v0 = x0[8 * r0 + i0];
            y0[2 * r0 + i0] = v0;
        }
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // pad
        void *const pointers[] = { buffers[0], buffers[1], buffers[3] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_pad((void *)&call, 0);
    }
    { // add
        void *const pointers[] = { (char *)buffers[2] + 72, buffers[0], buffers[4] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_add((void *)&call, 0);
    }
    { // slice
        void *const pointers[] = { (char *)buffers[2] + 104, buffers[5] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k2_slice((void *)&call, 0);
    }
    return error->code;
}
