/* 4 x 5 times 5 x 5 */
static void k0_matmul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *const a = (const double *)call->buffers[0] + 0;
    const double *const b = (const double *)call->buffers[1] + 0;
    double *const c = (double *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->dgemm(call->runtime, 0, 0, 4, 5, 5, a, 5, b, 5, c, 5, NULL, 0);
}

/* tanh_add: 1 row of 20 elements */
static void k1_tanh_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    const double *restrict const x2 = (const double *)call->buffers[2];
    double *restrict const y0 = (double *)call->buffers[3];
    double *restrict const y1 = (double *)call->buffers[4];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v0 = x0[i0];
        const double v1 = x1[i0];
        const double v2 = v0 + v1;  // add
        const double v3 = gradc_tanh_f64(v2);  // tanh
        const double v4 = x2[i0];
        const double v5 = v3 * v3;  // mul
        const double v6 = v4 + v5;  // add
        y0[i0] = v3;
        y1[i0] = v6;
    }
}

/* tanh_mul_add: 1 row of 20 elements */
static void k2_tanh_mul_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    const double *restrict const x2 = (const double *)call->buffers[2];
    double *restrict const y0 = (double *)call->buffers[3];
    double *restrict const y1 = (double *)call->buffers[4];
    double *restrict const y2 = (double *)call->buffers[5];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v0 = x0[i0];
        const double v1 = x1[i0];
        const double v2 = v0 + v1;  // add
        const double v3 = gradc_tanh_f64(v2);  // tanh
        const double v4 = v3 * v3;  // mul
        const double v5 = x2[i0];
        const double v6 = v5 + v4;  // add
        y0[i0] = v3;
        y1[i0] = v4;
        y2[i0] = v6;
    }
}

/* sum_add: 1 row of 20 elements */
static void k3_sum_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    double *restrict const y0 = (double *)call->buffers[2];
    double *restrict const y1 = (double *)call->buffers[3];
    (void)chunk;

    double t0_sum = 0.0;
    double t0_part = 0.0;
#pragma omp simd reduction(+ : t0_part)
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v1 = x0[i0];
        const double v2 = x1[i0];
        const double v3 = v2 + v2;  // add
        t0_part = t0_part + v1;
        y1[i0] = v3;
    }
    t0_sum = t0_sum + t0_part;
    const double t0 = t0_sum;
    y0[0] = t0;
}

/* mul: 1 row of 20 elements */
static void k4_mul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    double *restrict const y0 = (double *)call->buffers[2];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v0 = x0[i0];
        const double v1 = x1[i0];
        const double v2 = 1.0 - v1;  // sub
        const double v3 = v0 * v2;  // mul
        y0[i0] = v3;
    }
}

/* 4 x 5 times 5 x 5 */
static void k5_matmul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *const a = (const double *)call->buffers[0] + 0;
    const double *const b = (const double *)call->buffers[1] + 0;
    double *const c = (double *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->dgemm(call->runtime, 0, 1, 4, 5, 5, a, 5, b, 5, c, 5, NULL, 0);
}

/* add: 1 row of 20 elements */
static void k6_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    double *restrict const y0 = (double *)call->buffers[2];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v0 = x0[i0];
        const double v1 = x1[i0];
        const double v2 = v0 + v1;  // add
        const double v3 = v2 + v1;  // add
        y0[i0] = v3;
    }
}

/* mul: 1 row of 20 elements */
static void k7_mul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    double *restrict const y0 = (double *)call->buffers[2];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v0 = x0[i0];
        const double v1 = x1[i0];
        const double v2 = v1 * v1;  // mul
        const double v3 = 1.0 - v2;  // sub
        const double v4 = v0 * v3;  // mul
        y0[i0] = v4;
    }
}

/* 5 x 4 times 4 x 5 */
static void k8_matmul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *const a = (const double *)call->buffers[0] + 0;
    const double *const b = (const double *)call->buffers[1] + 0;
    double *const c = (double *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->dgemm(call->runtime, 1, 0, 5, 5, 4, a, 5, b, 5, c, 5, NULL, 0);
}

/* 5 x 164 times 164 x 5 */
static void k9_matmul(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *const a = (const double *)call->buffers[0] + 0;
    const double *const b = (const double *)call->buffers[1] + 0;
    double *const c = (double *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->dgemm(call->runtime, 1, 0, 5, 5, 164, a, 5, b, 5, c, 5, NULL, 0);
}

/* add: 1 row of 20 elements */
static void k10_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    double *restrict const y0 = (double *)call->buffers[1];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const double v0 = x0[i0];
        const double v1 = 1.0 + v0;  // add
        y0[i0] = v1;
    }
}

/* add: 1 row of 25 elements */
static void k11_add(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const double *restrict const x0 = (const double *)call->buffers[0];
    const double *restrict const x1 = (const double *)call->buffers[1];
    const double *restrict const x2 = (const double *)call->buffers[2];
    const double *restrict const x3 = (const double *)call->buffers[3];
    const double *restrict const x4 = (const double *)call->buffers[4];
    double *restrict const y0 = (double *)call->buffers[5];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 25; ++i0) {
        const double v0 = x0[i0];
        const double v1 = x1[i0];
        const double v2 = v0 + v1;  // add
        const double v3 = x2[i0];
        const double v4 = v2 + v3;  // add
        const double v5 = x3[i0];
        const double v6 = v4 + v5;  // add
        const double v7 = x4[i0];
        const double v8 = v6 + v7;  // add
        y0[i0] = v8;
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    char *const arena = buffers[7];
    error->code = GRADC_FINE;

    { // matmul
        void *const pointers[] = { buffers[0], buffers[1], arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_matmul((void *)&call, 0);
    }
    { // tanh_add
        void *const pointers[] = { arena + 0, buffers[2], buffers[0], arena + 14400,
            arena + 14592 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_tanh_add((void *)&call, 0);
    }
    { // tanh_mul_add_loop
        for (int64_t t0 = 0; t0 < 44; ++t0) {
            char *const t0_0 = t0 == 0 ? arena + 14400 : arena - 160 + 160 * t0;
            char *const t0_1 = (char *)buffers[2] + 160 * t0;
            char *const t0_2 = t0 == 0 ? arena + 14592 : arena + 14080 + (t0 - 1) % 2 * 160;
            char *const t0_3 = arena + 0 + 160 * t0;
            char *const t0_4 = arena + 7040 + 160 * t0;
            char *const t0_5 = arena + 14080 + t0 % 2 * 160;
            { // matmul
                void *const pointers[] = { t0_0, buffers[1], arena + 14784 };
                const gradc_call call = { pointers, floats, ints, runtime, error };
                k0_matmul((void *)&call, 0);
            }
            { // tanh_mul_add
                void *const pointers[] = { arena + 14784, t0_1 + 160, t0_2, t0_3, t0_4, t0_5 };
                const gradc_call call = { pointers, floats, ints, runtime, error };
                k2_tanh_mul_add((void *)&call, 0);
            }
        }
    }
    { // sum_add
        void *const pointers[] = { arena + 14240, arena + 6880, buffers[3], arena + 14592 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k3_sum_add((void *)&call, 0);
    }
    { // mul_add_loop
        for (int64_t t0 = 0; t0 < 44; ++t0) {
            char *const t0_0 = arena + 7040 - 160 * t0;
            char *const t0_1 = t0 == 0 ? arena + 14592 : arena + 14080 + (t0 - 1) % 2 * 160;
            char *const t0_2 = t0 == 43 ? arena + 7680 : arena + 0 - 160 * t0;
            char *const t0_3 = (char *)buffers[4] + 7040 - 160 * t0;
            char *const t0_4 = arena + 14080 + t0 % 2 * 160;
            { // mul
                void *const pointers[] = { t0_1, t0_0 + 6880, t0_3 };
                const gradc_call call = { pointers, floats, ints, runtime, error };
                k4_mul((void *)&call, 0);
            }
            { // matmul
                void *const pointers[] = { t0_3, buffers[1], arena + 14784 };
                const gradc_call call = { pointers, floats, ints, runtime, error };
                k5_matmul((void *)&call, 0);
            }
            { // add
                void *const pointers[] = { arena + 14784, t0_2 + 6720, t0_4 };
                const gradc_call call = { pointers, floats, ints, runtime, error };
                k6_add((void *)&call, 0);
            }
        }
    }
    { // mul
        void *const pointers[] = { arena + 14240, arena + 14400, buffers[4] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k7_mul((void *)&call, 0);
    }
    { // matmul
        void *const pointers[] = { arena + 6720, (char *)buffers[4] + 7040, arena + 7040 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k8_matmul((void *)&call, 0);
    }
    { // matmul
        void *const pointers[] = { arena + 6560, (char *)buffers[4] + 6880, arena + 7296 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k8_matmul((void *)&call, 0);
    }
    { // matmul
        void *const pointers[] = { arena + 14400, (char *)buffers[4] + 160, arena + 7552 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k8_matmul((void *)&call, 0);
    }
    { // matmul
        void *const pointers[] = { arena + 0, (char *)buffers[4] + 320, arena + 7808 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k9_matmul((void *)&call, 0);
    }
    { // matmul
        void *const pointers[] = { buffers[0], buffers[4], arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k8_matmul((void *)&call, 0);
    }
    { // matmul
        void *const pointers[] = { buffers[4], buffers[1], arena + 256 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k5_matmul((void *)&call, 0);
    }
    { // add
        void *const pointers[] = { arena + 256, buffers[6] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k10_add((void *)&call, 0);
    }
    { // add
        void *const pointers[] = { arena + 7040, arena + 7296, arena + 7552, arena + 7808,
            arena + 0, buffers[5] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k11_add((void *)&call, 0);
    }
    return error->code;
}
