/* pad: 5 rows of 8 elements */
extern "C" __global__ void __launch_bounds__(32)
k0_pad(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 8;
    [[maybe_unused]] const int lane = threadIdx.x % 8;
    if (chunk >= 2) return;
    const double *const __restrict__ x0 = (const double *)buffers[0];
    const double *const __restrict__ x1 = (const double *)buffers[1];
    double *const __restrict__ y0 = (double *)buffers[3];
    const int64_t begin = chunk * 3;
    const int64_t end = begin + 3 < 5 ? begin + 3 : 5;

    for (int64_t r0 = begin; r0 < end; ++r0) {
        for (int64_t i0 = lane; i0 < 8; i0 += 8) {
            const double v0 = r0 - 1 >= 0 && r0 - 1 < 3 && i0 - 1 >= 0 && i0 - 1 < 6 && (i0 - 1) <
                4 ? x0[4 * (r0 - 1) + ((i0 - 1))] : 0;
            const double v1 = v0 * v0;  // mul
            const double v2 = r0 - 1 >= 0 && r0 - 1 < 3 && i0 - 1 >= 0 && i0 - 1 < 6 && (i0 - 1) -
                4 >= 0 ? x1[2 * (r0 - 1) + ((i0 - 1) - 4)] : 0;
            const double v3 = (i0 - 1) < 4 ? v1 : v2;
            const double v4 = r0 - 1 >= 0 && r0 - 1 < 3 && i0 - 1 >= 0 && i0 - 1 < 6 ? v3 : 0.0;
            y0[8 * r0 + i0] = v4;
        }
    }
}

/* add: 3 rows of 4 elements */
extern "C" __global__ void __launch_bounds__(32)
k1_add(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 4;
    [[maybe_unused]] const int lane = threadIdx.x % 4;
    if (chunk >= 1) return;
    const double *const __restrict__ x0 = (const double *)buffers[2];
    const double *const __restrict__ x1 = (const double *)buffers[0];
    double *const __restrict__ y0 = (double *)buffers[4];

    for (int64_t r0 = 0; r0 < 3; ++r0) {
        for (int64_t i0 = lane; i0 < 4; i0 += 4) {
            const double v0 = x0[8 * r0 + i0 + 9];
            const double v1 = x1[4 * r0 + i0];
            const double v2 = v0 * v1;  // mul
            const double v3 = v2 + v2;  // add
            y0[4 * r0 + i0] = v3;
        }
    }
}

/* slice: 3 rows of 2 elements */
extern "C" __global__ void __launch_bounds__(32)
k2_slice(GRADC_KERNEL_PARAMETERS)
{
    const int64_t chunk = gradc_thread() / 2;
    [[maybe_unused]] const int lane = threadIdx.x % 2;
    if (chunk >= 1) return;
    const double *const __restrict__ x0 = (const double *)buffers[2];
    double *const __restrict__ y0 = (double *)buffers[5];

    for (int64_t r0 = 0; r0 < 3; ++r0) {
        for (int64_t i0 = lane; i0 < 2; i0 += 2) {
            const double v0 = x0[8 * r0 + i0 + 13];
            y0[2 * r0 + i0] = v0;
        }
    }
}
