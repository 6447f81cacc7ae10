/* Matrix products of types that the run time's do not know: c = a b for m x k times k x n,
   where element (i, j) of a lies at i * a_row + j * a_column, and so for b; c is row-major. */
#ifndef GRADC_MATMUL_H
#define GRADC_MATMUL_H

#define GRADC_TILE_ROWS 32
#define GRADC_TILE_COLUMNS 64
#define GRADC_TILE_DEPTH 64

#define GRADC_PLAIN_LOAD(from) (*(from))
#define GRADC_PLAIN_STORE(to, value) (*(to) = (__typeof__(*(to)))(value))

/* A tile of c is summed in the type `sum` while the depth is gone through, and rounded once. Tiles
   of b are copied together, so that any strides are read only once per tile of c. */
#define GRADC_MATMUL(name, type, sum, load, store)                                                \
    static void gradc_pack_##name(int64_t depth, int64_t width, const type *b, int64_t b_row,     \
                                  int64_t b_column, sum *packed)                                  \
    {                                                                                             \
        for (int64_t p = 0; p < depth; ++p)                                                       \
            for (int64_t j = 0; j < GRADC_TILE_COLUMNS; ++j)                                      \
                packed[p * GRADC_TILE_COLUMNS + j] =                                              \
                    j < width ? (sum)load(b + p * b_row + j * b_column) : (sum)0;                 \
    }                                                                                             \
                                                                                                  \
    static void gradc_tile_##name(int64_t rows, int64_t width, int64_t k, const type *a,          \
                                  int64_t a_row, int64_t a_column, const type *b, int64_t b_row,  \
                                  int64_t b_column, type *c, int64_t c_row)                       \
    {                                                                                             \
        GRADC_LINED sum tile[GRADC_TILE_ROWS][GRADC_TILE_COLUMNS] = {{0}};                        \
        GRADC_LINED sum packed[GRADC_TILE_DEPTH * GRADC_TILE_COLUMNS];                            \
        for (int64_t p0 = 0; p0 < k; p0 += GRADC_TILE_DEPTH) {                                    \
            const int64_t depth = k - p0 < GRADC_TILE_DEPTH ? k - p0 : GRADC_TILE_DEPTH;          \
            gradc_pack_##name(depth, width, b + p0 * b_row, b_row, b_column, packed);             \
            for (int64_t i = 0; i < rows; ++i)                                                    \
                for (int64_t p = 0; p < depth; ++p) {                                             \
                    const sum factor = (sum)load(a + i * a_row + (p0 + p) * a_column);            \
                    for (int64_t j = 0; j < GRADC_TILE_COLUMNS; ++j)                              \
                        tile[i][j] += factor * packed[p * GRADC_TILE_COLUMNS + j];                \
                }                                                                                 \
        }                                                                                         \
        for (int64_t i = 0; i < rows; ++i)                                                        \
            for (int64_t j = 0; j < width; ++j)                                                   \
                store(c + i * c_row + j, tile[i][j]);                                             \
    }                                                                                             \
                                                                                                  \
    static void gradc_matmul_##name(int64_t m, int64_t n, int64_t k, const type *a,               \
                                    int64_t a_row, int64_t a_column, const type *b,               \
                                    int64_t b_row, int64_t b_column, type *c)                     \
    {                                                                                             \
        for (int64_t i = 0; i < m; i += GRADC_TILE_ROWS)                                          \
            for (int64_t j = 0; j < n; j += GRADC_TILE_COLUMNS)                                   \
                gradc_tile_##name(m - i < GRADC_TILE_ROWS ? m - i : GRADC_TILE_ROWS,              \
                                  n - j < GRADC_TILE_COLUMNS ? n - j : GRADC_TILE_COLUMNS, k,     \
                                  a + i * a_row, a_row, a_column, b + j * b_column, b_row,        \
                                  b_column, c + i * n + j, n);                                    \
    }

#define GRADC_PLAIN_MATMUL(name, type) \
    GRADC_MATMUL(name, type, type, GRADC_PLAIN_LOAD, GRADC_PLAIN_STORE)

#define GRADC_MATMUL_bool GRADC_MATMUL(bool, bool, int32_t, GRADC_PLAIN_LOAD, GRADC_PLAIN_STORE)
#define GRADC_MATMUL_uint8 GRADC_PLAIN_MATMUL(uint8, uint8_t)
#define GRADC_MATMUL_int8 GRADC_PLAIN_MATMUL(int8, int8_t)
#define GRADC_MATMUL_int16 GRADC_PLAIN_MATMUL(int16, int16_t)
#define GRADC_MATMUL_int32 GRADC_PLAIN_MATMUL(int32, int32_t)
#define GRADC_MATMUL_int64 GRADC_PLAIN_MATMUL(int64, int64_t)
#define GRADC_MATMUL_float16 \
    GRADC_MATMUL(float16, gradc_f16, float, gradc_load_f16, gradc_store_f16)
#define GRADC_MATMUL_bfloat16 \
    GRADC_MATMUL(bfloat16, gradc_bf16, float, gradc_load_bf16, gradc_store_bf16)

#endif
