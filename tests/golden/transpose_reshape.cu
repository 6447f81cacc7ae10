/* mul: 2 x 3 x 5 rows of 4 elements */
extern "C" __global__ void __launch_bounds__(32)
k0_mul(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 4;
    [[maybe_unused]] const int lane = threadIdx.x % 4;
    if (chunk >= 4) return;
    const float *const __restrict__ x0 = (const float *)buffers[0];
    float *const __restrict__ y0 = (float *)buffers[1];
    const int64_t begin = chunk * 9;
    const int64_t end = begin + 9 < 30 ? begin + 9 : 30;

    for (int64_t row = begin; row < end; ++row) {
        [[maybe_unused]] const int64_t r0 = (uint32_t)row / 15;
        [[maybe_unused]] const int64_t r1 = (uint32_t)row / 5 % 3;
        [[maybe_unused]] const int64_t r2 = (uint32_t)row % 5;
        for (int64_t i0 = lane; i0 < 4; i0 += 4) {
            const float v0 = x0[60 * r0 + 4 * r1 + 12 * r2 + i0];
            const float v1 = v0 * 0.5f;  // mul
            y0[60 * r0 + 20 * r1 + 4 * r2 + i0] = v1;
        }
    }
}

/* add: 1 row of 120 elements */
extern "C" __global__ void __launch_bounds__(32)
k1_add(GRADC_KERNEL_PARAMETERS)
{
    [[maybe_unused]] const int64_t chunk = blockIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x;
    const float *const __restrict__ x0 = (const float *)buffers[0];
    float *const __restrict__ y0 = (float *)buffers[2];

    for (int64_t i0 = lane; i0 < 120; i0 += 32) {
        const float v0 = x0[i0];
        const float v1 = gradc_exp_f32(v0);  // exp
        const float v2 = v1 + v0;  // add
        y0[i0] = v2;
    }
}
