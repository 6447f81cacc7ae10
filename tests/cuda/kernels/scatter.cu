// Many threads write to few places.

extern "C" __global__ void scatter_add(GRADC_KERNEL_PARAMETERS) {
    const int32_t *indices = static_cast<const int32_t *>(buffers[0]);
    const float *x = static_cast<const float *>(buffers[1]);
    float *sums = static_cast<float *>(buffers[2]);
    int32_t *largest = static_cast<int32_t *>(buffers[3]);
    const int64_t i = gradc_thread();
    if (i >= ints[0]) return;
    atomicAdd(&sums[indices[i]], x[i]);
    atomicMax(&largest[indices[i]], static_cast<int32_t>(i));
}

// How many lanes of each warp hold a positive number, by vote.
extern "C" __global__ void count_positive(GRADC_KERNEL_PARAMETERS) {
    const float *x = static_cast<const float *>(buffers[0]);
    const int64_t i = gradc_thread();
    const unsigned votes = __ballot_sync(0xffffffffu, i < ints[0] && x[i] > 0);
    if (threadIdx.x % warpSize == 0)
        static_cast<int32_t *>(buffers[1])[i / warpSize] = __popc(votes);
}
