/* add_sub: 1 row of 100 elements */
extern "C" __global__ void __launch_bounds__(32)
k0_add_sub(GRADC_KERNEL_PARAMETERS)
{
    [[maybe_unused]] const int64_t chunk = blockIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x;
    const float *const __restrict__ x0 = (const float *)buffers[1];
    const float *const __restrict__ x1 = (const float *)buffers[2];
    const float *const __restrict__ x2 = (const float *)buffers[3];
    const float *const __restrict__ x3 = (const float *)buffers[0];
    float *const __restrict__ y0 = (float *)buffers[5];
    float *const __restrict__ y1 = (float *)buffers[6];
    float *const __restrict__ y2 = (float *)buffers[4];
    const float s1_float32 = (float)floats[1];
    const float s3_float32 = (float)floats[3];
    const float s2_float32 = (float)floats[2];
    const float s0_float32 = (float)floats[0];
    const float s4_float32 = (float)floats[4];

    const float v2 = 1.0f - s1_float32;  // sub
    const float v8 = 1.0f - s3_float32;  // sub
    for (int64_t i0 = lane; i0 < 100; i0 += 32) {
        const float v0 = x0[i0];
        const float v1 = s1_float32 * v0;  // mul
        const float v3 = x1[i0];
        const float v4 = v2 * v3;  // mul
        const float v5 = v1 + v4;  // add
        const float v6 = x2[i0];
        const float v7 = s3_float32 * v6;  // mul
        const float v9 = v3 * v3;  // mul
        const float v10 = v8 * v9;  // mul
        const float v11 = v7 + v10;  // add
        const float v12 = x3[i0];
        const float v13 = v5 / s2_float32;  // div
        const float v14 = s0_float32 * v13;  // mul
        const float v15 = v11 / s4_float32;  // div
        const float v16 = sqrtf(v15);  // sqrt
        const float v17 = v16 + 1e-08f;  // add
        const float v18 = v14 / v17;  // div
        const float v19 = v12 - v18;  // sub
        y0[i0] = v5;
        y1[i0] = v11;
        y2[i0] = v19;
    }
}
