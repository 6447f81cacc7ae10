/* cross_entropy_sum: 6 rows of 10 elements */
extern "C" __global__ void __launch_bounds__(32)
k0_cross_entropy_sum(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 8;
    [[maybe_unused]] const int lane = threadIdx.x % 8;
    if (chunk >= 1) return;
    const float *const __restrict__ x0 = (const float *)buffers[0];
    const float *const __restrict__ x1 = (const float *)buffers[1];
    const int32_t *const __restrict__ x2 = (const int32_t *)buffers[2];
    float *const __restrict__ y0 = (float *)buffers[4];
    double *const __restrict__ part0 = (double *)buffers[6] + chunk;
    float *const __restrict__ part1 = (float *)buffers[5];
    double a0_sum = 0.0;

    for (int64_t i0 = lane; i0 < 10; i0 += 8) {
        part1[i0] = 0.0f;
    }
    for (int64_t r0 = 0; r0 < 6; ++r0) {
        float t0_sum = ((float)-INFINITY);
        float t0_part = ((float)-INFINITY);
        for (int64_t i0 = lane; i0 < 10; i0 += 8) {
            const float v3 = x0[10 * r0 + i0];
            const float v4 = x1[i0];
            const float v5 = v3 + v4;  // add
            t0_part = gradc_max_f32(t0_part, v5);
        }
        t0_sum = gradc_max_f32(t0_sum, t0_part);
        t0_sum = gradc_group_reduce<8>(t0_sum, gradc_maximum());
        const float t0 = t0_sum;
        double t1_sum = 0.0;
        double t2_sum = 0.0;
        const float v6 = fabsf(t0);  // cross_entropy: abs
        const bool v7 = v6 == ((float)INFINITY);  // cross_entropy: eq
        const float v8 = v7 ? 0.0f : t0;  // cross_entropy: where
        const int32_t v12 = x2[r0];
        // cross_entropy: checked_index
        const int32_t v13 = (int32_t)gradc_place(error, 0, r0, v12, 0, 10);
        float t1_part = 0.0f;
        float t2_part = 0.0f;
        for (int64_t i0 = lane; i0 < 10; i0 += 8) {
            const float v3 = x0[10 * r0 + i0];
            const float v4 = x1[i0];
            const float v5 = v3 + v4;  // add
            const float v9 = v5 - v8;  // cross_entropy: sub
            const float v10 = gradc_exp_f32(v9);  // cross_entropy: exp
            const int32_t v11 = (int32_t)(i0);
            const bool v14 = v11 == v13;  // cross_entropy: eq
            const float v15 = v14 ? v9 : 0.0f;  // cross_entropy: where
            t1_part = t1_part + v10;
            t2_part = t2_part + v15;
        }
        t1_sum = t1_sum + (double)t1_part;
        t2_sum = t2_sum + (double)t2_part;
        t1_sum = gradc_group_reduce<8>(t1_sum, gradc_sum());
        const float t1 = (float)t1_sum;
        t2_sum = gradc_group_reduce<8>(t2_sum, gradc_sum());
        const float t2 = (float)t2_sum;
        const float v16 = gradc_log_f32(t1);  // cross_entropy: log
        const float v17 = v16 - t2;  // cross_entropy: sub
        const float v19 = 0.16666667f / t1;  // cross_entropy: div
        a0_sum = a0_sum + (double)v17;
        for (int64_t i0 = lane; i0 < 10; i0 += 8) {
            const int32_t v11 = (int32_t)(i0);
            const bool v14 = v11 == v13;  // cross_entropy: eq
            const float v18 = v14 ? (-0.16666667f) : 0.0f;  // cross_entropy: where
            const float v3 = x0[10 * r0 + i0];
            const float v4 = x1[i0];
            const float v5 = v3 + v4;  // add
            const float v9 = v5 - v8;  // cross_entropy: sub
            const float v10 = gradc_exp_f32(v9);  // cross_entropy: exp
            const float v20 = v19 * v10;  // cross_entropy: mul
            const float v21 = v18 + v20;  // cross_entropy: add
            y0[10 * r0 + i0] = v21;
            part1[i0] = part1[i0] + v21;
        }
    }
    if (lane == 0) part0[0] = a0_sum;
}

/* cross_entropy_combine: 1 results of 1 shares */
extern "C" __global__ void __launch_bounds__(32)
k1_cross_entropy_combine(GRADC_KERNEL_PARAMETERS)
{
    const double *const __restrict__ part = (const double *)buffers[6];
    float *const __restrict__ y = (float *)((char *)buffers[6] + 64);
    double total = 0.0;
    constexpr int64_t column = 0;
    for (int64_t chunk = threadIdx.x; chunk < 1; chunk += 32) {
        total = total + (double)part[chunk * 1 + column];
    }
    total = gradc_block_reduce(total, gradc_sum());
    if (threadIdx.x == 0) {
        y[column] = (float)total;
    }
}

/* cross_entropy: 1 row of 1 element */
extern "C" __global__ void __launch_bounds__(32)
k2_cross_entropy(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread();
    if (chunk >= 1) return;
    const float *const __restrict__ x0 = (const float *)((char *)buffers[6] + 64);
    float *const __restrict__ y0 = (float *)buffers[3];

    const float v0 = x0[0];
    const float v1 = v0 / 6.0f;  // cross_entropy: div
    y0[0] = v1;
}
