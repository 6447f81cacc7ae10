/* tanh_sum_div: 1 row of 1000 elements */
extern "C" __global__ void __launch_bounds__(128)
k0_tanh_sum_div(GRADC_KERNEL_PARAMETERS)
{
    [[maybe_unused]] const int64_t chunk = blockIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x;
    const double *const __restrict__ x0 = (const double *)buffers[0];
    double *const __restrict__ y0 = (double *)buffers[2];
    double *const __restrict__ y1 = (double *)buffers[3];
    double *const __restrict__ y2 = (double *)buffers[1];

    double t0_sum = 0.0;
    double t0_part = 0.0;
    for (int64_t i0 = lane; i0 < 1000; i0 += 128) {
        const double v1 = x0[i0];
        const double v2 = sin(v1);  // sin
        const double v3 = v2 * v1;  // mul
        const double v4 = v3 + 1.0;  // add
        const double v5 = gradc_tanh_f64(v4);  // tanh
        const double v6 = v5 * v5;  // mul
        const double v7 = 0.001 * v5;  // mul
        const double v8 = v7 + v7;  // add
        const double v9 = 1.0 - v6;  // sub
        const double v10 = v8 * v9;  // mul
        const double v11 = v10 * v2;  // mul
        const double v12 = v10 * v1;  // mul
        const double v13 = cos(v1);  // cos
        const double v14 = v12 * v13;  // mul
        const double v15 = v11 + v14;  // add
        y0[i0] = v5;
        t0_part = t0_part + v6;
        y1[i0] = v15;
    }
    t0_sum = t0_sum + t0_part;
    t0_sum = gradc_block_reduce(t0_sum, gradc_sum());
    const double t0 = t0_sum;
    const double v16 = t0 / 1000.0;  // div
    if (lane == 0) y2[0] = v16;
}
