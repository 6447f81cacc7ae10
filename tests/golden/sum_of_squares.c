/* sum_add: 1 row of 1000 elements */
static void k0_sum_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    double *restrict const y0 = (double *)call->buffers[1];
    double *restrict const y1 = (double *)call->buffers[2];
    (void)chunk;

    double t0_sum = 0.0;
    double t0_part = 0.0;
#pragma omp simd reduction(+ : t0_part)
    for (int64_t i0 = 0; i0 < 1000; ++i0) {
        const double v1 = x0[i0];
        const double v2 = v1 * v1;  // mul
        const double v3 = v1 + v1;  // add
        t0_part = t0_part + v2;
        y1[i0] = v3;
    }
    t0_sum = t0_sum + t0_part;
    const double t0 = t0_sum;
    y0[0] = t0;
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // sum_add
        void *const pointers[] = { buffers[0], buffers[1], buffers[2] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_sum_add((void *)&call, 0);
    }
    return error->code;
}
