/* 16 x 12 times 12 x 20 */
static void k0_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *const a = (const float *)call->buffers[0] + 0;
    const float *const b = (const float *)call->buffers[1] + 0;
    float *const c = (float *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->sgemm(call->runtime, 0, 1, 16, 20, 12, a, 12, b, 12, c, 20, NULL, 0);
}

/* relu: 16 rows of 20 elements */
static void k1_relu(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 16; ++r0) {
        for (int64_t left = 0; left < 20; left += 16) {
            const int64_t start = left + 16 < 20 ? left : 20 - 16;
#pragma omp simd
            for (int64_t lane = 0; lane < 16; ++lane) {
                const int64_t i0 = start + lane;
                const float v0 = x0[20 * r0 + i0];
                const float v1 = x1[i0];
                const float v2 = v0 + v1;  // linear: add
                const bool v3 = v2 <= 0.0f;  // relu: le
                const float v4 = v3 ? 0.0f : v2;  // relu: where
                y0[20 * r0 + i0] = v4;
            }
        }
    }
}

/* 16 x 20 times 20 x 5 */
static void k2_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *const a = (const float *)call->buffers[0] + 0;
    const float *const b = (const float *)call->buffers[1] + 0;
    float *const c = (float *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->sgemm(call->runtime, 0, 1, 16, 5, 20, a, 20, b, 20, c, 5, NULL, 0);
}

/* square_loss: 1 row of 16 x 5 elements */
static void k3_square_loss(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    const float *restrict const x2 = (const float *)call->buffers[2];
    float *restrict const y0 = (float *)call->buffers[3];
    float *restrict const y1 = (float *)call->buffers[4];
    (void)chunk;

    double t0_sum = 0.0;
    for (int64_t i0 = 0; i0 < 16; ++i0) {
        float t0_part = 0.0f;
#pragma omp simd reduction(+ : t0_part)
        for (int64_t i1 = 0; i1 < 5; ++i1) {
            const float v1 = x0[5 * i0 + i1];
            const float v2 = x1[i1];
            const float v3 = v1 + v2;  // linear: add
            const float v4 = x2[5 * i0 + i1];
            const float v5 = v3 - v4;  // square_loss: sub
            const float v6 = v5 * v5;  // square_loss: mul
            const float v7 = 0.0125f * v5;  // square_loss: mul
            const float v8 = v7 + v7;  // square_loss: add
            t0_part = t0_part + v6;
            y0[5 * i0 + i1] = v8;
        }
        t0_sum = t0_sum + (double)t0_part;
    }
    const float t0 = (float)t0_sum;
    const float v9 = t0 / 80.0f;  // square_loss: div
    y1[0] = v9;
}

/* 16 x 5 times 5 x 20 */
static void k4_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *const a = (const float *)call->buffers[0] + 0;
    const float *const b = (const float *)call->buffers[1] + 0;
    float *const c = (float *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->sgemm(call->runtime, 0, 0, 16, 20, 5, a, 5, b, 20, c, 20, NULL, 0);
}

/* 20 x 16 times 16 x 5 */
static void k5_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *const a = (const float *)call->buffers[0] + 0;
    const float *const b = (const float *)call->buffers[1] + 0;
    float *const c = (float *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->sgemm(call->runtime, 1, 0, 20, 5, 16, a, 20, b, 5, c, 5, NULL, 0);
}

/* linear: 16 rows of 5 elements */
static void k6_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    float *restrict const part0 = (float *)call->buffers[1];
    (void)chunk;
    for (int64_t column = 0; column < 5; ++column) {
        part0[column] = 0.0f;
    }

    for (int64_t r0 = 0; r0 < 16; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 5; ++i0) {
            const float v0 = x0[5 * r0 + i0];
            part0[i0] = part0[i0] + v0;
        }
    }
}

/* relu_linear: 16 rows of 20 elements */
static void k7_relu_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    const float *restrict const x2 = (const float *)call->buffers[2];
    float *restrict const y0 = (float *)call->buffers[3];
    float *restrict const part0 = (float *)call->buffers[4];
    (void)chunk;
    for (int64_t column = 0; column < 20; ++column) {
        part0[column] = 0.0f;
    }

    for (int64_t r0 = 0; r0 < 16; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 20; ++i0) {
            const float v0 = x0[20 * r0 + i0];
            const float v1 = x1[i0];
            const float v2 = v0 + v1;  // linear: add
            const bool v3 = v2 <= 0.0f;  // relu: le
            const float v4 = x2[20 * r0 + i0];
            const float v5 = v3 ? 0.0f : v4;  // relu: where
            y0[20 * r0 + i0] = v5;
            part0[i0] = part0[i0] + v5;
        }
    }
}

/* sub: 5 rows of 20 elements */
static void k8_sub(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    const double *const floats = call->floats;
    const int64_t *const ints = call->ints;
    (void)floats, (void)ints;
    const float s0_float32 = (float)floats[0];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 5; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 20; ++i0) {
            const float v0 = x0[20 * r0 + i0];
            const float v1 = x1[r0 + 5 * i0];
            const float v2 = s0_float32 * v1;  // mul
            const float v3 = v0 - v2;  // sub
            y0[20 * r0 + i0] = v3;
        }
    }
}

/* sub: 1 row of 5 elements */
static void k9_sub(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    const double *const floats = call->floats;
    const int64_t *const ints = call->ints;
    (void)floats, (void)ints;
    const float s0_float32 = (float)floats[0];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 5; ++i0) {
        const float v0 = x0[i0];
        const float v1 = x1[i0];
        const float v2 = s0_float32 * v1;  // mul
        const float v3 = v0 - v2;  // sub
        y0[i0] = v3;
    }
}

/* 12 x 16 times 16 x 20 */
static void k10_linear(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *const a = (const float *)call->buffers[0] + 0;
    const float *const b = (const float *)call->buffers[1] + 0;
    float *const c = (float *)call->buffers[2] + 0;
    (void)chunk;
    call->runtime->sgemm(call->runtime, 1, 0, 12, 20, 16, a, 12, b, 20, c, 20, NULL, 0);
}

/* sub: 1 row of 20 elements */
static void k11_sub(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    const double *const floats = call->floats;
    const int64_t *const ints = call->ints;
    (void)floats, (void)ints;
    const float s0_float32 = (float)floats[0];
    (void)chunk;

#pragma omp simd
    for (int64_t i0 = 0; i0 < 20; ++i0) {
        const float v0 = x0[i0];
        const float v1 = x1[i0];
        const float v2 = s0_float32 * v1;  // mul
        const float v3 = v0 - v2;  // sub
        y0[i0] = v3;
    }
}

/* sub: 20 rows of 12 elements */
static void k12_sub(void *context, int64_t chunk)
{
    const gradc_call *const call = context;
    const float *restrict const x0 = (const float *)call->buffers[0];
    const float *restrict const x1 = (const float *)call->buffers[1];
    float *restrict const y0 = (float *)call->buffers[2];
    const double *const floats = call->floats;
    const int64_t *const ints = call->ints;
    (void)floats, (void)ints;
    const float s0_float32 = (float)floats[0];
    (void)chunk;

    for (int64_t r0 = 0; r0 < 20; ++r0) {
#pragma omp simd
        for (int64_t i0 = 0; i0 < 12; ++i0) {
            const float v0 = x0[12 * r0 + i0];
            const float v1 = x1[r0 + 20 * i0];
            const float v2 = s0_float32 * v1;  // mul
            const float v3 = v0 - v2;  // sub
            y0[12 * r0 + i0] = v3;
        }
    }
}

/* Runs the kernels in order. buffers: the inputs, the outputs, the arena. */
__attribute__((visibility("default")))
int gradc_program(void **buffers, const double *floats, const int64_t *ints,
    const gradc_runtime *runtime, gradc_error *error)
{
    char *const arena = buffers[11];
    error->code = GRADC_FINE;

    { // linear
        void *const pointers[] = { buffers[0], buffers[1], arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k0_linear((void *)&call, 0);
    }
    { // relu
        void *const pointers[] = { arena + 0, buffers[2], arena + 1280 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k1_relu((void *)&call, 0);
    }
    { // linear
        void *const pointers[] = { arena + 1280, buffers[3], arena + 2560 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k2_linear((void *)&call, 0);
    }
    { // square_loss
        void *const pointers[] = { arena + 2560, buffers[4], buffers[5], arena + 4288, buffers[6] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k3_square_loss((void *)&call, 0);
    }
    { // linear
        void *const pointers[] = { arena + 4288, buffers[3], arena + 2560 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k4_linear((void *)&call, 0);
    }
    { // linear
        void *const pointers[] = { arena + 1280, arena + 4288, arena + 3840 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k5_linear((void *)&call, 0);
    }
    { // linear
        void *const pointers[] = { arena + 4288, arena + 4608 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k6_linear((void *)&call, 0);
    }
    { // relu_linear
        void *const pointers[] = { arena + 0, buffers[2], arena + 2560, arena + 1280,
            arena + 4288 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k7_relu_linear((void *)&call, 0);
    }
    { // sub
        void *const pointers[] = { buffers[3], arena + 3840, buffers[9] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k8_sub((void *)&call, 0);
    }
    { // sub
        void *const pointers[] = { buffers[4], arena + 4608, buffers[10] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k9_sub((void *)&call, 0);
    }
    { // linear
        void *const pointers[] = { buffers[0], arena + 1280, arena + 0 };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k10_linear((void *)&call, 0);
    }
    { // sub
        void *const pointers[] = { buffers[2], arena + 4288, buffers[8] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k11_sub((void *)&call, 0);
    }
    { // sub
        void *const pointers[] = { buffers[1], arena + 0, buffers[7] };
        const gradc_call call = { pointers, floats, ints, runtime, error };
        k12_sub((void *)&call, 0);
    }
    return error->code;
}
