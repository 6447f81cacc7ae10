/* argmax_sum: 8 rows of 10 elements */
static void k0_argmax_sum(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    int32_t *restrict const y0 = (int32_t *)call->buffers[1];
    const int32_t *restrict const x1 = (const int32_t *)call->buffers[2];
    double *restrict const part0 = (double *)call->buffers[3] + chunk * 1;
    (void)chunk;
    double a0_sum = 0.0;

    for (int64_t r0 = 0; r0 < 8; ++r0) {
        float t0_best = ((float)-INFINITY);
        int32_t t0_sum = 0;
        for (int64_t i0 = 0; i0 < 10; ++i0) {
            const float v1 = x0[10 * r0 + i0];
            if (v1 > t0_best || (v1 != v1 && t0_best == t0_best)) { t0_best = v1; t0_sum =
                (int32_t)(i0); }
        }
        const int32_t t0 = t0_sum;
        y0[r0] = t0;
        const int32_t v2 = x1[r0];
        const bool v3 = t0 == v2;  // eq
        const float v4 = (float)v3;  // cast
        a0_sum = a0_sum + (double)v4;
    }
    part0[0] = a0_sum;
}

/* sum_combine: 1 results of 1 shares */
static void k1_sum_combine(void *context, int64_t only)
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

/* mul: 1 row of 1 element */
static void k2_mul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    float *restrict const y0 = (float *)call->buffers[1];
    (void)chunk;

    const float v0 = x0[0];
    const float v1 = v0 * 0.125f;  // mul
    y0[0] = v1;
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    char *const arena = buffers[4];
    error->code = GRADC_FINE;

    { // argmax_sum
        void *const pointers[] = { buffers[0], buffers[2], buffers[1], arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_argmax_sum((void *)&call, 0);
    }
    { // sum_combine
        void *const pointers[] = { arena + 0, arena + 64 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_sum_combine((void *)&call, 0);
    }
    { // mul
        void *const pointers[] = { arena + 64, buffers[3] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k2_mul((void *)&call, 0);
    }
    return error->code;
}
