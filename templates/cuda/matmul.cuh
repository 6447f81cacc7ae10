// Matrix products by tiles in shared memory: c = a b for m x k times k x n, where element (i, j) of
// a lies at i * a_row + j * a_column, and so for b; c is row-major.
#ifndef GRADC_MATMUL_CUH
#define GRADC_MATMUL_CUH

__device__ __forceinline__ float gradc_multiply_add(float x, float y, float z) {
    return fmaf(x, y, z);
}
__device__ __forceinline__ double gradc_multiply_add(double x, double y, double z) {
    return fma(x, y, z);
}
__device__ __forceinline__ uint32_t gradc_multiply_add(uint32_t x, uint32_t y, uint32_t z) {
    return x * y + z;
}
__device__ __forceinline__ uint64_t gradc_multiply_add(uint64_t x, uint64_t y, uint64_t z) {
    return x * y + z;
}

// How elements are kept and summed. Whole numbers are summed without a sign, as they wrap around.
template <class Stored, class Summed>
struct gradc_plain {
    using stored = Stored;
    using sum = Summed;
    __device__ static sum load(const stored *from) { return static_cast<sum>(*from); }
    __device__ static void store(stored *to, sum value) { *to = static_cast<stored>(value); }
};
#define GRADC_HALF_ELEMENTS(KIND)                                                          \
    struct gradc_elements_##KIND {                                                         \
        using stored = gradc_##KIND;                                                       \
        using sum = float;                                                                 \
        __device__ static sum load(const stored *from) { return gradc_load_##KIND(from); } \
        __device__ static void store(stored *to, sum value) { gradc_store_##KIND(to, value); } \
    };
GRADC_HALF_ELEMENTS(f16)
GRADC_HALF_ELEMENTS(bf16)
using gradc_elements_i32 = gradc_plain<int32_t, uint32_t>;
using gradc_elements_i64 = gradc_plain<int64_t, uint64_t>;
using gradc_elements_f32 = gradc_plain<float, float>;
using gradc_elements_f64 = gradc_plain<double, double>;

constexpr int gradc_side = 16;  // a block has side * side threads, and a tile is as deep

// The part of a matrix that begins at (row, column), 0 where the matrix ends; `tile` is indexed by
// depth first. Neighbouring threads read along the rows where `by_depth`, else across them.
template <class Elements, int EDGE>
__device__ __forceinline__ void gradc_load_tile(
    typename Elements::sum (&tile)[gradc_side][EDGE + 1], const typename Elements::stored *matrix,
    int64_t width, int64_t width_step, int64_t depth, int64_t depth_step, bool by_depth) {
    for (int place = threadIdx.x; place < gradc_side * EDGE; place += gradc_side * gradc_side) {
        const int p = by_depth ? place % gradc_side : place / EDGE;
        const int i = by_depth ? place / gradc_side : place % EDGE;
        const bool inside = i < width && p < depth;
        tile[p][i] = inside ? Elements::load(matrix + i * width_step + p * depth_step)
                            : static_cast<typename Elements::sum>(0);
    }
}

// One tile of c, whose first element is (row, column): EACH * EACH elements for each thread.
template <class Elements, int EACH>
__device__ __forceinline__ void gradc_matmul(
    int64_t m, int64_t n, int64_t k, int64_t row, int64_t column,
    const typename Elements::stored *a, int64_t a_row, int64_t a_column,
    const typename Elements::stored *b, int64_t b_row, int64_t b_column,
    typename Elements::stored *c) {
    using sum = typename Elements::sum;
    constexpr int edge = gradc_side * EACH;
    __shared__ sum tile_a[gradc_side][edge + 1], tile_b[gradc_side][edge + 1];
    const int across = threadIdx.x % gradc_side, down = threadIdx.x / gradc_side;
    sum sums[EACH][EACH] = {};
    for (int64_t from = 0; from < k; from += gradc_side) {
        gradc_load_tile<Elements, edge>(tile_a, a + row * a_row + from * a_column, m - row, a_row,
                                        k - from, a_column, a_column == 1);
        gradc_load_tile<Elements, edge>(tile_b, b + from * b_row + column * b_column, n - column,
                                        b_column, k - from, b_row, b_column != 1);
        __syncthreads();
        for (int p = 0; p < gradc_side; ++p)
            for (int i = 0; i < EACH; ++i)
                for (int j = 0; j < EACH; ++j)
                    sums[i][j] = gradc_multiply_add(tile_a[p][down + i * gradc_side],
                                                    tile_b[p][across + j * gradc_side], sums[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) {
            const int64_t y = row + down + i * gradc_side, x = column + across + j * gradc_side;
            if (y < m && x < n) Elements::store(c + y * n + x, sums[i][j]);
        }
}

#endif  // GRADC_MATMUL_CUH
