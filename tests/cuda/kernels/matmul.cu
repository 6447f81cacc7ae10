// A product of matrices by tiles in shared memory: C (m x n) = A (m x k) B (k x n).

constexpr int TILE = 16;

__device__ __forceinline__ float element(const float *x, int64_t rows, int64_t columns, int64_t row,
                                         int64_t column) {
    return row < rows && column < columns ? x[row * columns + column] : 0.0f;
}

extern "C" __global__ void __launch_bounds__(TILE *TILE) matmul(GRADC_KERNEL_PARAMETERS) {
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const float *a = static_cast<const float *>(buffers[0]);
    const float *b = static_cast<const float *>(buffers[1]);
    const int64_t m = ints[0], n = ints[1], k = ints[2];
    const int64_t row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int64_t start = 0; start < k; start += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = element(a, m, k, row, start + threadIdx.x);
        tile_b[threadIdx.y][threadIdx.x] = element(b, k, n, start + threadIdx.y, column);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) 
            sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && column < n) static_cast<float *>(buffers[2])[row * n + column] = sum;
}

// The reversal of each block's elements through as much shared memory as the launch asks for.
extern "C" __global__ void reverse_blocks(GRADC_KERNEL_PARAMETERS) {
    GRADC_DYNAMIC_SHARED(double, line);
    double *x = static_cast<double *>(buffers[0]);
    line[threadIdx.x] = x[gradc_thread()];
    __syncthreads();
    x[gradc_thread()] = line[blockDim.x - 1 - threadIdx.x];
}
