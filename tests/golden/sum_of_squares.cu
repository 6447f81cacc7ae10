/* sum_add: 1 row of 1000 elements */
extern "C" __global__ void __launch_bounds__(128)
k0_sum_add(GRADC_KERNEL_PARAMETERS)
{
    [[maybe_unused]] const int64_t chunk = blockIdx.x;
    [[maybe_unused]] const int lane = threadIdx.x;
    const double *const __restrict__ x0 = (const double *)buffers[0];
    double *const __restrict__ y0 = (double *)buffers[1];
    double *const __restrict__ y1 = (double *)buffers[2];

    double t0_sum = 0.0;
    double t0_part = 0.0;
    for (int64_t i0 = lane; i0 < 1000; i0 += 128) {
        const double v1 = x0[i0];
        const double v2 = v1 * v1;  // mul
        const double v3 = v1 + v1;  // add
        t0_part = t0_part + v2;
        y1[i0] = v3;
    }
    t0_sum = t0_sum + t0_part;
    t0_sum = gradc_block_reduce(t0_sum, gradc_sum());
    const double t0 = t0_sum;
    if (lane == 0) y0[0] = t0;
}
