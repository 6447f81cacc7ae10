/* argmax_sum: 8 rows of 10 elements */
extern "C" __global__ void __launch_bounds__(32)
k0_argmax_sum(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 8;
    [[maybe_unused]] const int lane = threadIdx.x % 8;
    if (chunk >= 1) return;
    const float *const __restrict__ x0 = (const float *)buffers[0];
    int32_t *const __restrict__ y0 = (int32_t *)buffers[2];
    const int32_t *const __restrict__ x1 = (const int32_t *)buffers[1];
    double *const __restrict__ part0 = (double *)buffers[4] + chunk;
    double a0_sum = 0.0;

    for (int64_t r0 = 0; r0 < 8; ++r0) {
        gradc_candidate<float> t0_best = {((float)-INFINITY), INT64_MAX};
        for (int64_t i0 = lane; i0 < 10; i0 += 8) {
            const float v1 = x0[10 * r0 + i0];
            t0_best = gradc_argmax()(t0_best, gradc_candidate<float>{v1, i0});
        }
        t0_best = gradc_group_reduce<8>(t0_best, gradc_argmax());
        const int32_t t0 = (int32_t)t0_best.position;
        if (lane == 0) y0[r0] = t0;
        const int32_t v2 = x1[r0];
        const bool v3 = t0 == v2;  // eq
        const float v4 = (float)v3;  // cast
        a0_sum = a0_sum + (double)v4;
    }
    if (lane == 0) part0[0] = a0_sum;
}

/* sum_combine: 1 results of 1 shares */
extern "C" __global__ void __launch_bounds__(32)
k1_sum_combine(GRADC_KERNEL_PARAMETERS)
{
    const double *const __restrict__ part = (const double *)buffers[4];
    float *const __restrict__ y = (float *)((char *)buffers[4] + 64);
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

/* mul: 1 row of 1 element */
extern "C" __global__ void __launch_bounds__(32)
k2_mul(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread();
    if (chunk >= 1) return;
    const float *const __restrict__ x0 = (const float *)((char *)buffers[4] + 64);
    float *const __restrict__ y0 = (float *)buffers[3];

    const float v0 = x0[0];
    const float v1 = v0 * 0.125f;  // mul
    y0[0] = v1;
}
