// Reductions of a whole array by one block, and of rows by one warp each.

#define BLOCK_REDUCTION(NAME, TYPE, IDENTITY, COMBINE)                                     \
    extern "C" __global__ void NAME(GRADC_KERNEL_PARAMETERS) {                             \
        const TYPE *x = static_cast<const TYPE *>(buffers[0]);                             \
        TYPE result = IDENTITY;                                                            \
        for (int64_t i = threadIdx.x; i < ints[0]; i += blockDim.x)                        \
            result = COMBINE()(result, x[i]);                                              \
        result = gradc_block_reduce(result, COMBINE());                                    \
        if (threadIdx.x == 0) *static_cast<TYPE *>(buffers[1]) = result;                   \
    }
BLOCK_REDUCTION(block_sum, float, 0, gradc_sum)
BLOCK_REDUCTION(block_sum_f64, double, 0, gradc_sum)
BLOCK_REDUCTION(block_sum_i64, int64_t, 0, gradc_sum)
BLOCK_REDUCTION(block_product, double, 1, gradc_product)
BLOCK_REDUCTION(block_maximum, float, -INFINITY, gradc_maximum)
BLOCK_REDUCTION(block_minimum, float, INFINITY, gradc_minimum)
BLOCK_REDUCTION(block_maximum_i32, int32_t, INT32_MIN, gradc_maximum)

#define BLOCK_POSITION(NAME, TYPE, IDENTITY, COMBINE)                                      \
    extern "C" __global__ void NAME(GRADC_KERNEL_PARAMETERS) {                             \
        const TYPE *x = static_cast<const TYPE *>(buffers[0]);                             \
        gradc_candidate<TYPE> best = {IDENTITY, INT64_MAX};                                    \
        for (int64_t i = threadIdx.x; i < ints[0]; i += blockDim.x)                        \
            best = COMBINE()(best, gradc_candidate<TYPE>{x[i], i});                            \
        best = gradc_block_reduce(best, COMBINE());                                        \
        if (threadIdx.x == 0) *static_cast<int32_t *>(buffers[1]) = best.position;         \
    }
BLOCK_POSITION(block_argmax, float, -INFINITY, gradc_argmax)
BLOCK_POSITION(block_argmin, float, INFINITY, gradc_argmin)
BLOCK_POSITION(block_argmax_i32, int32_t, INT32_MIN, gradc_argmax)

// Two reductions of one type in a row share their memory.
extern "C" __global__ void block_variance(GRADC_KERNEL_PARAMETERS) {
    const float *x = static_cast<const float *>(buffers[0]);
    float sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < ints[0]; i += blockDim.x) sum += x[i];
    const float mean = gradc_block_reduce(sum, gradc_sum()) / ints[0];
    for (int64_t i = threadIdx.x; i < ints[0]; i += blockDim.x)
        squares += (x[i] - mean) * (x[i] - mean);
    squares = gradc_block_reduce(squares, gradc_sum());
    static_cast<float *>(buffers[1])[threadIdx.x] = squares / ints[0];
}

// One warp per row; buffers x, sums.
extern "C" __global__ void row_sum(GRADC_KERNEL_PARAMETERS) {
    const float *x = static_cast<const float *>(buffers[0]);
    const int64_t row = blockIdx.x * (blockDim.x / warpSize) + threadIdx.x / warpSize;
    const int64_t rows = ints[0], columns = ints[1];
    if (row >= rows) return;  // a whole warp
    float sum = 0;
    for (int64_t column = threadIdx.x % warpSize; column < columns; column += warpSize)
        sum += x[row * columns + column];
    for (int distance = warpSize / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % warpSize == 0) static_cast<float *>(buffers[1])[row] = sum;
}
