/* softmax: 6 rows of 40 elements */
extern "C" __global__ void __launch_bounds__(192)
k0_softmax(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 32;
    [[maybe_unused]] const int lane = threadIdx.x % 32;
    if (chunk >= 6) return;
    const float *const __restrict__ x0 = (const float *)buffers[0];
    const float *const __restrict__ x1 = (const float *)buffers[1];
    float *const __restrict__ y0 = (float *)buffers[2];
    float *const __restrict__ y1 = (float *)buffers[3];
    const int64_t begin = chunk * 1;
    const int64_t end = begin + 1 < 6 ? begin + 1 : 6;

    for (int64_t r0 = begin; r0 < end; ++r0) {
        float t0_sum = ((float)-INFINITY);
        float t0_part = ((float)-INFINITY);
        for (int64_t i0 = lane; i0 < 40; i0 += 32) {
            const float v3 = x0[40 * r0 + i0];
            t0_part = gradc_max_f32(t0_part, v3);
        }
        t0_sum = gradc_max_f32(t0_sum, t0_part);
        t0_sum = gradc_group_reduce<32>(t0_sum, gradc_maximum());
        const float t0 = t0_sum;
        double t1_sum = 0.0;
        const float v4 = fabsf(t0);  // softmax: abs
        const bool v5 = v4 == ((float)INFINITY);  // softmax: eq
        const float v6 = v5 ? 0.0f : t0;  // softmax: where
        float t1_part = 0.0f;
        for (int64_t i0 = lane; i0 < 40; i0 += 32) {
            const float v3 = x0[40 * r0 + i0];
            const float v7 = v3 - v6;  // softmax: sub
            const float v8 = gradc_exp_f32(v7);  // softmax: exp
            t1_part = t1_part + v8;
        }
        t1_sum = t1_sum + (double)t1_part;
        t1_sum = gradc_group_reduce<32>(t1_sum, gradc_sum());
        const float t1 = (float)t1_sum;
        double t2_sum = 0.0;
        float t2_part = 0.0f;
        for (int64_t i0 = lane; i0 < 40; i0 += 32) {
            const float v3 = x0[40 * r0 + i0];
            const float v7 = v3 - v6;  // softmax: sub
            const float v8 = gradc_exp_f32(v7);  // softmax: exp
            const float v9 = v8 / t1;  // softmax: div
            const float v10 = x1[40 * r0 + i0];
            const float v11 = v10 / t1;  // softmax: div
            const float v12 = -v11;  // softmax: neg
            const float v13 = v12 * v9;  // softmax: mul
            y0[40 * r0 + i0] = v9;
            t2_part = t2_part + v13;
        }
        t2_sum = t2_sum + (double)t2_part;
        t2_sum = gradc_group_reduce<32>(t2_sum, gradc_sum());
        const float t2 = (float)t2_sum;
        for (int64_t i0 = lane; i0 < 40; i0 += 32) {
            const float v10 = x1[40 * r0 + i0];
            const float v11 = v10 / t1;  // softmax: div
            const float v14 = v11 + t2;  // softmax: add
            const float v3 = x0[40 * r0 + i0];
            const float v7 = v3 - v6;  // softmax: sub
            const float v8 = gradc_exp_f32(v7);  // softmax: exp
            const float v15 = v14 * v8;  // softmax: mul
            y1[40 * r0 + i0] = v15;
        }
    }
}
