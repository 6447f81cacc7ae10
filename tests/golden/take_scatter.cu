/* take: 7 rows of 4 elements */
extern "C" __global__ void __launch_bounds__(32)
k0_take(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 4;
    [[maybe_unused]] const int lane = threadIdx.x % 4;
    if (chunk >= 1) return;
    const int32_t *const __restrict__ x0 = (const int32_t *)buffers[1];
    const float *const __restrict__ x1 = (const float *)buffers[0];
    float *const __restrict__ y0 = (float *)buffers[3];

    for (int64_t r0 = 0; r0 < 7; ++r0) {
        const int32_t v0 = x0[r0];
        const int32_t v1 = (int32_t)gradc_place(error, 0, r0, v0, -10, 10);  // checked_index
        for (int64_t i0 = lane; i0 < 4; i0 += 4) {
            const float v2 = x1[i0 + 4 * (int64_t)v1];
            y0[4 * r0 + i0] = v2;
        }
    }
}

/* scatter_add: 1 row of 40 elements */
extern "C" __global__ void __launch_bounds__(32)
k1_scatter_add(GRADC_KERNEL_PARAMETERS)
{
    [[maybe_unused]] const int64_t chunk = blockIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x;
    float *const __restrict__ y0 = (float *)buffers[4];

    for (int64_t i0 = lane; i0 < 40; i0 += 32) {
        y0[i0] = 0.0f;
    }
}

/* scatter_add: 7 rows of 4 elements */
extern "C" __global__ void __launch_bounds__(32)
k2_scatter_add(GRADC_KERNEL_PARAMETERS)
{
    const int64_t owner = gradc_thread() / 4;
    [[maybe_unused]] const int lane = threadIdx.x % 4;
    if (owner >= 4) return;
    float *const __restrict__ y0 = (float *)buffers[4];
    const int32_t *const __restrict__ x0 = (const int32_t *)buffers[1];
    const float *const __restrict__ x1 = (const float *)buffers[2];

    for (int64_t r0 = 0; r0 < 7; ++r0) {
        const int32_t v0 = x0[r0];
        const int32_t v1 = (int32_t)gradc_place(error, 0, r0, v0, -10, 10);  // checked_index
        if ((uint32_t)v1 % 4 != owner) continue;
        for (int64_t i0 = lane; i0 < 4; i0 += 4) {
            const float v2 = x1[4 * r0 + i0];
            y0[i0 + 4 * (int64_t)v1] += v2;
        }
    }
}
