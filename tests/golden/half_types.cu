/* exp_sum: 4 rows of 30 elements */
extern "C" __global__ void __launch_bounds__(64)
k0_exp_sum(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 16;
    [[maybe_unused]] const int lane = threadIdx.x % 16;
    if (chunk >= 4) return;
    const gradc_f16 *const __restrict__ x0 = (const gradc_f16 *)buffers[0];
    const gradc_bf16 *const __restrict__ x1 = (const gradc_bf16 *)buffers[1];
    gradc_f16 *const __restrict__ y0 = (gradc_f16 *)buffers[2];
    gradc_f16 *const __restrict__ y1 = (gradc_f16 *)buffers[3];
    const int64_t begin = chunk * 1;
    const int64_t end = begin + 1 < 4 ? begin + 1 : 4;

    for (int64_t r0 = begin; r0 < end; ++r0) {
        float t0_sum = 0.0f;
        float t0_part = 0.0f;
        for (int64_t i0 = lane; i0 < 30; i0 += 16) {
            const float v1 = gradc_load_f16(x0 + 30 * r0 + i0);
            const float v2 = gradc_load_bf16(x1 + i0);
            const float v3 = gradc_round_f16((float)v2);  // cast
            const float v4 = gradc_round_f16(v1 * v3);  // mul
            const float v5 = gradc_round_f16(gradc_exp_f32(v4));  // exp
            gradc_store_f16(y0 + 30 * r0 + i0, v5);
            t0_part = t0_part + v4;
        }
        t0_sum = t0_sum + (float)t0_part;
        t0_sum = gradc_group_reduce<16>(t0_sum, gradc_sum());
        const float t0 = t0_sum;
        if (lane == 0) gradc_store_f16(y1 + r0, t0);
    }
}

/* sum: 1 row of 30 elements */
extern "C" __global__ void __launch_bounds__(32)
k1_sum(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 16;
    [[maybe_unused]] const int lane = threadIdx.x % 16;
    if (chunk >= 1) return;
    const gradc_bf16 *const __restrict__ x0 = (const gradc_bf16 *)buffers[1];
    gradc_bf16 *const __restrict__ y0 = (gradc_bf16 *)buffers[4];

    float t0_sum = 0.0f;
    float t0_part = 0.0f;
    for (int64_t i0 = lane; i0 < 30; i0 += 16) {
        const float v1 = gradc_load_bf16(x0 + i0);
        const float v2 = gradc_round_bf16(v1 * v1);  // mul
        t0_part = t0_part + v2;
    }
    t0_sum = t0_sum + (float)t0_part;
    t0_sum = gradc_group_reduce<16>(t0_sum, gradc_sum());
    const float t0 = t0_sum;
    if (lane == 0) gradc_store_bf16(y0 + 0, t0);
}
