/* tanh_sum_div: 1 row of 1000 elements */
static void k0_tanh_sum_div(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    double *restrict const y0 = (double *)call->buffers[1];
    double *restrict const y1 = (double *)call->buffers[2];
    double *restrict const y2 = (double *)call->buffers[3];
    (void)chunk;

    double t0_sum = 0.0;
    double t0_part = 0.0;
#pragma omp simd reduction(+ : t0_part)
    for (int64_t i0 = 0; i0 < 1000; ++i0) {
        const double v1 = x0[i0];
        const double v2 = gradc_lanes_sin(v1);  // sin
        const double v3 = v2 * v1;  // mul
        const double v4 = v3 + 1.0;  // add
        const double v5 = gradc_tanh_f64(v4);  // tanh
        const double v6 = v5 * v5;  // mul
        const double v7 = 0.001 * v5;  // mul
        const double v8 = v7 + v7;  // add
        const double v9 = 1.0 - v6;  // sub
        const double v10 = v8 * v9;  // mul
        const double v11 = v10 * v2;  // mul
        const double v12 = v10 * v1;  // mul
        const double v13 = gradc_lanes_cos(v1);  // cos
        const double v14 = v12 * v13;  // mul
        const double v15 = v11 + v14;  // add
        y0[i0] = v5;
        t0_part = t0_part + v6;
        y1[i0] = v15;
    }
    t0_sum = t0_sum + t0_part;
    const double t0 = t0_sum;
    const double v16 = t0 / 1000.0;  // div
    y2[0] = v16;
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    error->code = GRADC_FINE;

    { // tanh_sum_div
        void *const pointers[] = { buffers[0], buffers[2], buffers[3], buffers[1] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_tanh_sum_div((void *)&call, 0);
    }
    return error->code;
}
