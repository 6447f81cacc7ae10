// Kernels that are wrong, each in one way. They compile, and a device may even run them.

extern "C" __global__ void divergent_barrier(GRADC_KERNEL_PARAMETERS) {
    if (threadIdx.x < 7)
        __syncthreads();
    else
        __syncthreads();
}

extern "C" __global__ void early_return(GRADC_KERNEL_PARAMETERS) {
    if (threadIdx.x == 3) return;
    __syncthreads();
}

extern "C" __global__ void divergent_shuffle(GRADC_KERNEL_PARAMETERS) {
    int *x = static_cast<int *>(buffers[0]);
    if (threadIdx.x < 16)
        x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    else
        x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 2);
}

extern "C" __global__ void foreign_mask(GRADC_KERNEL_PARAMETERS) {
    __syncwarp(0x0000ffffu);  // the upper half is not in its own mask
}

extern "C" __global__ void unwritten_shared(GRADC_KERNEL_PARAMETERS) {
    __shared__ float values[64];
    if (threadIdx.x != 5) values[threadIdx.x] = 1.0f;
    __syncthreads();
    static_cast<float *>(buffers[0])[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void unwritten_dynamic_shared(GRADC_KERNEL_PARAMETERS) {
    GRADC_DYNAMIC_SHARED(float, values);
    static_cast<float *>(buffers[0])[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void missing_barrier(GRADC_KERNEL_PARAMETERS) {
    __shared__ float values[64];
    values[threadIdx.x] = static_cast<float>(threadIdx.x);
    static_cast<float *>(buffers[0])[threadIdx.x] = values[63 - threadIdx.x];
}

extern "C" __global__ void beyond_global(GRADC_KERNEL_PARAMETERS) {
    static_cast<float *>(buffers[0])[ints[0] + threadIdx.x] = 0.0f;
}

extern "C" __global__ void beyond_shared(GRADC_KERNEL_PARAMETERS) {
    __shared__ float beyond_here[32];
    beyond_here[threadIdx.x] = 1.0f;
    __syncthreads();
    static_cast<float *>(buffers[0])[threadIdx.x] = beyond_here[threadIdx.x];
}
