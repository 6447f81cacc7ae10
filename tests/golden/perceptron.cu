/* 16 x 12 times 12 x 20 */
extern "C" __global__ void __launch_bounds__(256)
k0_linear(GRADC_KERNEL_PARAMETERS)
{
    for (int64_t block = blockIdx.x; block < 2; block += gridDim.x) {
        const int64_t row = block / 2 % 1 * 16;
        const int64_t column = block % 2 * 16;
        const float *const __restrict__ a = (const float *)buffers[0];
        const float *const __restrict__ b = (const float *)buffers[1];
        float *const __restrict__ c = (float *)buffers[11];
        gradc_matmul<gradc_elements_f32, 1>(16, 20, 12, row, column, a, 12, 1, b, 1, 12, c);
    }
}

/* relu: 16 rows of 20 elements */
extern "C" __global__ void __launch_bounds__(96)
k1_relu(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 16;
    [[maybe_unused]] const int lane = threadIdx.x % 16;
    if (chunk >= 6) return;
    const float *const __restrict__ x0 = (const float *)buffers[11];
    const float *const __restrict__ x1 = (const float *)buffers[2];
    float *const __restrict__ y0 = (float *)((char *)buffers[11] + 1280);
    const int64_t begin = chunk * 3;
    const int64_t end = begin + 3 < 16 ? begin + 3 : 16;

    for (int64_t r0 = begin; r0 < end; ++r0) {
        for (int64_t i0 = lane; i0 < 20; i0 += 16) {
            const float v0 = x0[20 * r0 + i0];
            const float v1 = x1[i0];
            const float v2 = v0 + v1;  // linear: add
            const bool v3 = v2 <= 0.0f;  // relu: le
            const float v4 = v3 ? 0.0f : v2;  // relu: where
            y0[20 * r0 + i0] = v4;
        }
    }
}

/* 16 x 20 times 20 x 5 */
extern "C" __global__ void __launch_bounds__(256)
k2_linear(GRADC_KERNEL_PARAMETERS)
{
    for (int64_t block = blockIdx.x; block < 1; block += gridDim.x) {
        const int64_t row = block / 1 % 1 * 16;
        const int64_t column = block % 1 * 16;
        const float *const __restrict__ a = (const float *)((char *)buffers[11] + 1280);
        const float *const __restrict__ b = (const float *)buffers[3];
        float *const __restrict__ c = (float *)((char *)buffers[11] + 2560);
        gradc_matmul<gradc_elements_f32, 1>(16, 5, 20, row, column, a, 20, 1, b, 1, 20, c);
    }
}

/* square_loss: 1 row of 16 x 5 elements */
extern "C" __global__ void __launch_bounds__(32)
k3_square_loss(GRADC_KERNEL_PARAMETERS)
{
    [[maybe_unused]] const int64_t chunk = blockIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x;
    const float *const __restrict__ x0 = (const float *)((char *)buffers[11] + 2560);
    const float *const __restrict__ x1 = (const float *)buffers[4];
    const float *const __restrict__ x2 = (const float *)buffers[5];
    float *const __restrict__ y0 = (float *)((char *)buffers[11] + 4288);
    float *const __restrict__ y1 = (float *)buffers[6];

    double t0_sum = 0.0;
    float t0_part = 0.0f;
    for (int64_t element = lane; element < 80; element += 32) {
        [[maybe_unused]] const int64_t i0 = (uint32_t)element / 5;
        [[maybe_unused]] const int64_t i1 = (uint32_t)element % 5;
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
    t0_sum = gradc_group_reduce<32>(t0_sum, gradc_sum());
    const float t0 = (float)t0_sum;
    const float v9 = t0 / 80.0f;  // square_loss: div
    if (lane == 0) y1[0] = v9;
}

/* 16 x 5 times 5 x 20 */
extern "C" __global__ void __launch_bounds__(256)
k4_linear(GRADC_KERNEL_PARAMETERS)
{
    for (int64_t block = blockIdx.x; block < 2; block += gridDim.x) {
        const int64_t row = block / 2 % 1 * 16;
        const int64_t column = block % 2 * 16;
        const float *const __restrict__ a = (const float *)((char *)buffers[11] + 4288);
        const float *const __restrict__ b = (const float *)buffers[3];
        float *const __restrict__ c = (float *)((char *)buffers[11] + 2560);
        gradc_matmul<gradc_elements_f32, 1>(16, 20, 5, row, column, a, 5, 1, b, 20, 1, c);
    }
}

/* 20 x 16 times 16 x 5 */
extern "C" __global__ void __launch_bounds__(256)
k5_linear(GRADC_KERNEL_PARAMETERS)
{
    for (int64_t block = blockIdx.x; block < 2; block += gridDim.x) {
        const int64_t row = block / 1 % 2 * 16;
        const int64_t column = block % 1 * 16;
        const float *const __restrict__ a = (const float *)((char *)buffers[11] + 1280);
        const float *const __restrict__ b = (const float *)((char *)buffers[11] + 4288);
        float *const __restrict__ c = (float *)((char *)buffers[11] + 3840);
        gradc_matmul<gradc_elements_f32, 1>(20, 5, 16, row, column, a, 1, 20, b, 5, 1, c);
    }
}

/* linear: 16 rows of 5 elements */
extern "C" __global__ void __launch_bounds__(32)
k6_linear(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 4;
    [[maybe_unused]] const int lane = threadIdx.x % 4;
    if (chunk >= 2) return;
    const float *const __restrict__ x0 = (const float *)((char *)buffers[11] + 4288);
    float *const __restrict__ part0 = (float *)((char *)buffers[11] + 4608) + chunk * 5;
    const int64_t begin = chunk * 8;
    const int64_t end = begin + 8 < 16 ? begin + 8 : 16;

    for (int64_t i0 = lane; i0 < 5; i0 += 4) {
        float a0_column = 0.0f;
        for (int64_t r0 = begin; r0 < end; ++r0) {
            const float v0 = x0[5 * r0 + i0];
            a0_column = a0_column + v0;
        }
        part0[i0] = a0_column;
    }
}

/* linear_combine: 5 results of 2 shares */
extern "C" __global__ void __launch_bounds__(32)
k7_linear_combine(GRADC_KERNEL_PARAMETERS)
{
    const float *const __restrict__ part = (const float *)((char *)buffers[11] + 4608);
    float *const __restrict__ y = (float *)((char *)buffers[11] + 4672);
    double total = 0.0;
    const int place = threadIdx.x % 32;
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + place;
    if (column >= 5) return;
    for (int64_t chunk = 0; chunk < 2; ++chunk) {
        total = total + (double)part[chunk * 5 + column];
    }
    y[column] = (float)total;
}

/* relu_linear: 16 rows of 20 elements */
extern "C" __global__ void __launch_bounds__(32)
k8_relu_linear(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 16;
    [[maybe_unused]] const int lane = threadIdx.x % 16;
    if (chunk >= 2) return;
    const float *const __restrict__ x0 = (const float *)buffers[11];
    const float *const __restrict__ x1 = (const float *)buffers[2];
    const float *const __restrict__ x2 = (const float *)((char *)buffers[11] + 2560);
    float *const __restrict__ y0 = (float *)((char *)buffers[11] + 1280);
    float *const __restrict__ part0 = (float *)((char *)buffers[11] + 4288) + chunk * 20;
    const int64_t begin = chunk * 8;
    const int64_t end = begin + 8 < 16 ? begin + 8 : 16;

    for (int64_t i0 = lane; i0 < 20; i0 += 16) {
        float a0_column = 0.0f;
        for (int64_t r0 = begin; r0 < end; ++r0) {
            const float v0 = x0[20 * r0 + i0];
            const float v1 = x1[i0];
            const float v2 = v0 + v1;  // linear: add
            const bool v3 = v2 <= 0.0f;  // relu: le
            const float v4 = x2[20 * r0 + i0];
            const float v5 = v3 ? 0.0f : v4;  // relu: where
            y0[20 * r0 + i0] = v5;
            a0_column = a0_column + v5;
        }
        part0[i0] = a0_column;
    }
}

/* linear_combine: 20 results of 2 shares */
extern "C" __global__ void __launch_bounds__(32)
k9_linear_combine(GRADC_KERNEL_PARAMETERS)
{
    const float *const __restrict__ part = (const float *)((char *)buffers[11] + 4288);
    float *const __restrict__ y = (float *)((char *)buffers[11] + 960);
    double total = 0.0;
    const int place = threadIdx.x % 32;
    const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + place;
    if (column >= 20) return;
    for (int64_t chunk = 0; chunk < 2; ++chunk) {
        total = total + (double)part[chunk * 20 + column];
    }
    y[column] = (float)total;
}

/* sub: 5 rows of 20 elements */
extern "C" __global__ void __launch_bounds__(32)
k10_sub(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 16;
    [[maybe_unused]] const int lane = threadIdx.x % 16;
    if (chunk >= 2) return;
    const float *const __restrict__ x0 = (const float *)buffers[3];
    const float *const __restrict__ x1 = (const float *)((char *)buffers[11] + 3840);
    float *const __restrict__ y0 = (float *)buffers[9];
    const float s0_float32 = (float)floats[0];
    const int64_t begin = chunk * 4;
    const int64_t end = begin + 4 < 5 ? begin + 4 : 5;

    for (int64_t r0 = begin; r0 < end; ++r0) {
        for (int64_t i0 = lane; i0 < 20; i0 += 16) {
            const float v0 = x0[20 * r0 + i0];
            const float v1 = x1[r0 + 5 * i0];
            const float v2 = s0_float32 * v1;  // mul
            const float v3 = v0 - v2;  // sub
            y0[20 * r0 + i0] = v3;
        }
    }
}

/* sub: 1 row of 5 elements */
extern "C" __global__ void __launch_bounds__(32)
k11_sub(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 4;
    [[maybe_unused]] const int lane = threadIdx.x % 4;
    if (chunk >= 1) return;
    const float *const __restrict__ x0 = (const float *)buffers[4];
    const float *const __restrict__ x1 = (const float *)((char *)buffers[11] + 4672);
    float *const __restrict__ y0 = (float *)buffers[10];
    const float s0_float32 = (float)floats[0];

    for (int64_t i0 = lane; i0 < 5; i0 += 4) {
        const float v0 = x0[i0];
        const float v1 = x1[i0];
        const float v2 = s0_float32 * v1;  // mul
        const float v3 = v0 - v2;  // sub
        y0[i0] = v3;
    }
}

/* 12 x 16 times 16 x 20 */
extern "C" __global__ void __launch_bounds__(256)
k12_linear(GRADC_KERNEL_PARAMETERS)
{
    for (int64_t block = blockIdx.x; block < 2; block += gridDim.x) {
        const int64_t row = block / 2 % 1 * 16;
        const int64_t column = block % 2 * 16;
        const float *const __restrict__ a = (const float *)buffers[0];
        const float *const __restrict__ b = (const float *)((char *)buffers[11] + 1280);
        float *const __restrict__ c = (float *)buffers[11];
        gradc_matmul<gradc_elements_f32, 1>(12, 20, 16, row, column, a, 1, 12, b, 20, 1, c);
    }
}

/* sub: 1 row of 20 elements */
extern "C" __global__ void __launch_bounds__(32)
k13_sub(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 16;
    [[maybe_unused]] const int lane = threadIdx.x % 16;
    if (chunk >= 1) return;
    const float *const __restrict__ x0 = (const float *)buffers[2];
    const float *const __restrict__ x1 = (const float *)((char *)buffers[11] + 960);
    float *const __restrict__ y0 = (float *)buffers[8];
    const float s0_float32 = (float)floats[0];

    for (int64_t i0 = lane; i0 < 20; i0 += 16) {
        const float v0 = x0[i0];
        const float v1 = x1[i0];
        const float v2 = s0_float32 * v1;  // mul
        const float v3 = v0 - v2;  // sub
        y0[i0] = v3;
    }
}

/* sub: 20 rows of 12 elements */
extern "C" __global__ void __launch_bounds__(64)
k14_sub(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 8;
    [[maybe_unused]] const int lane = threadIdx.x % 8;
    if (chunk >= 7) return;
    const float *const __restrict__ x0 = (const float *)buffers[1];
    const float *const __restrict__ x1 = (const float *)buffers[11];
    float *const __restrict__ y0 = (float *)buffers[7];
    const float s0_float32 = (float)floats[0];
    const int64_t begin = chunk * 3;
    const int64_t end = begin + 3 < 20 ? begin + 3 : 20;

    for (int64_t r0 = begin; r0 < end; ++r0) {
        for (int64_t i0 = lane; i0 < 12; i0 += 8) {
            const float v0 = x0[12 * r0 + i0];
            const float v1 = x1[r0 + 20 * i0];
            const float v2 = s0_float32 * v1;  // mul
            const float v3 = v0 - v2;  // sub
            y0[12 * r0 + i0] = v3;
        }
    }
}
