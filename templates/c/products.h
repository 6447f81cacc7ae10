/* Products of matrices: by tiles in registers or by a BLAS, whichever is faster, on all threads. */
#ifndef GRADC_PRODUCTS_H
#define GRADC_PRODUCTS_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "gradc.h"
#include "vectors.h"

#if defined(__AVX512F__) || defined(__aarch64__)
enum { TILE_ROWS = 8 }; /* by two vectors: 16 sums, of 32 registers */
#else
enum { TILE_ROWS = 6 }; /* 12 sums, of 16 registers */
#endif

enum { DEPTH_BYTES = 2048 };                               /* of a line of a block */
enum { BLOCK_ROWS = 24 * TILE_ROWS, BLOCK_COLUMNS = 512 }; /* panels that a cache holds */
enum { SCRATCH_BYTES = (BLOCK_ROWS + BLOCK_COLUMNS) * DEPTH_BYTES };
enum { FEW_ROWS = 128, FEW_COLUMNS = 128 }; /* of c, for which it does not pay to pack b, or a */
enum { TURNED_STEPS = 16 };                 /* that are packed of one line before the next */
enum { ROUND_COLUMNS = 2048, SHARE_COLUMNS = 64 }; /* packed for all threads, and by one of them */
enum { ROUND_BYTES = ROUND_COLUMNS * DEPTH_BYTES };

#define APART __attribute__((noinline))
#define UNROLLED _Pragma("GCC unroll 8")

#ifdef __clang__
#define SHUFFLED(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLED(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif

static inline int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* -- parts, which threads take one by one -------------------------------------------------------

   They do not change what is added up for an element of the result, nor in which order. */

enum { LONGEST_SIDE = 512, SHORTEST_SIDE = 64 }; /* of what a thread multiplies at a time */
enum { ROW_STEP = 4 * TILE_ROWS, COLUMN_STEP = 32 };
enum { ENOUGH_PARTS = 8, LEAST_WORK = 1 << 19 }; /* how many such parts, multiplications in one */

static int64_t count(int64_t length, int64_t part)
{
    return (length + part - 1) / part;
}

/* Equal parts of about `most` at most, in multiples of `step`. */
static int64_t even_side(int64_t length, int64_t most, int64_t step)
{
    const int64_t parts = count(length, most);
    return count(count(length, parts), step) * step;
}

/* The side of a part, given the work per unit of it: long enough to be worth a hand-over. */
static int64_t long_side(int64_t length, int64_t work)
{
    const int64_t least = LEAST_WORK / work;
    return smaller(length, least > LONGEST_SIDE ? least : LONGEST_SIDE);
}

/* Parts as large as they may be, so that little is packed again, halved while they are few, but
   never below what is worth a hand-over. */
static void choose_parts(product *p)
{
    int64_t columns = long_side(p->n, smaller(p->m, LONGEST_SIDE) * p->k);
    int64_t rows = long_side(p->m, columns * p->k);
    while (count(p->m, rows) * count(p->n, columns) < ENOUGH_PARTS &&
           rows * columns >= 2 * LEAST_WORK / p->k &&
           (rows > SHORTEST_SIDE || columns > SHORTEST_SIDE)) {
        if (rows > columns) {
            rows = even_side(rows, (rows + 1) / 2, ROW_STEP);
        } else {
            columns = even_side(columns, (columns + 1) / 2, COLUMN_STEP);
        }
    }
    p->part_rows = even_side(p->m, rows, ROW_STEP);
    p->part_columns = even_side(p->n, columns, COLUMN_STEP);
    p->parts_across = count(p->n, p->part_columns);
}

static pthread_key_t scratch_key;

/* Room for packed blocks, which each thread keeps until its end. */
static void *scratch(void)
{
    void *room = pthread_getspecific(scratch_key);
    if (!room && !posix_memalign(&room, 64, SCRATCH_BYTES)) {
        pthread_setspecific(scratch_key, room);
    }
    return room;
}

#define GEMM(name) f32_##name
#define GEMM_TYPE float
#define GEMM_MASK int32_t
#include "gemm.inc"
#undef GEMM
#undef GEMM_TYPE
#undef GEMM_MASK

#define GEMM(name) f64_##name
#define GEMM_TYPE double
#define GEMM_MASK int64_t
#include "gemm.inc"
#undef GEMM
#undef GEMM_TYPE
#undef GEMM_MASK

/* -- the choice --------------------------------------------------------------------------------

   Measured beside OpenBLAS 0.3.31 on Zen 4, which has kernels of its own for small products, better
   ones but for a plain left and a transposed right matrix, and good ones for those of little depth. */

enum { LEAST_ROWS = 8, LEAST_COLUMNS = 16, NARROW_WORK = 1 << 19 };
enum { LEAST_SIDE = 32, TURNED_WORK = 1 << 16 }; /* where only the right one is transposed */
enum { LARGE_WORK = 1000000, SHALLOW = 64, SHALLOW_WORK = 8 * LARGE_WORK, FLAT = 16 };

static int is_fast_in_tiles(const product *p)
{
    const int64_t work = p->m * p->n * p->k;
    if (p->m < LEAST_ROWS || p->n < LEAST_COLUMNS) {
        return 0;
    }
    if (p->tb && !p->ta) {
        return work >= NARROW_WORK ||
               (p->m >= LEAST_SIDE && p->n >= LEAST_SIDE && work >= TURNED_WORK);
    }
    return p->k > FLAT && work >= (p->k > SHALLOW ? LARGE_WORK : SHALLOW_WORK);
}

static int chooses_blas(const product *p)
{
    if (!p->runtime->blas_sgemm || !fits_blas(p)) {
        return 0;
    }
    return p->runtime->blas_always || !is_fast_in_tiles(p);
}

/* -- products on one thread -------------------------------------------------------------------- */

static double element(const product *p, const char *array, int64_t index)
{
    return p->size == sizeof(float) ? (double)((const float *)array)[index]
                                    : ((const double *)array)[index];
}

/* By the definition: where there is no memory, or nothing to add up. */
static void multiply_plainly(const product *p, const char *a, const char *b, char *c,
                             const char *d, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = d ? element(p, d, i * p->ldd + j) : 0;
            for (int64_t l = 0; l < p->k; l++) {
                sum += element(p, a, p->ta ? l * p->lda + i : i * p->lda + l) *
                       element(p, b, p->tb ? j * p->ldb + l : l * p->ldb + j);
            }
            if (p->size == sizeof(float)) {
                ((float *)c)[i * p->ldc + j] = (float)sum;
            } else {
                ((double *)c)[i * p->ldc + j] = sum;
            }
        }
    }
}

static void multiply_in_tiles(const product *p, const char *a, const char *b, char *c,
                              const char *d, int64_t m, int64_t n)
{
    const int64_t a_line = p->ta ? 1 : p->lda, a_step = p->ta ? p->lda : 1;
    const int64_t b_line = p->tb ? p->ldb : 1, b_step = p->tb ? 1 : p->ldb;
    void *const room = scratch();
    if (!room) {
        multiply_plainly(p, a, b, c, d, m, n);
    } else if (p->size == sizeof(float)) {
        f32_product(m, n, p->k, (f32_operand){(const float *)a, a_line, a_step},
                    (f32_operand){(const float *)b, b_line, b_step}, (float *)c, p->ldc,
                    (f32_operand){(const float *)d, p->ldd, 1}, room);
    } else {
        f64_product(m, n, p->k, (f64_operand){(const double *)a, a_line, a_step},
                    (f64_operand){(const double *)b, b_line, b_step}, (double *)c, p->ldc,
                    (f64_operand){(const double *)d, p->ldd, 1}, room);
    }
}

/* -- products on all threads ------------------------------------------------------------------- */

static void multiply_part(void *context, int64_t index)
{
    const product *p = context;
    int64_t row = index / p->parts_across * p->part_rows;
    int64_t column = index % p->parts_across * p->part_columns;
    int64_t m = smaller(p->part_rows, p->m - row), n = smaller(p->part_columns, p->n - column);
    const char *a = p->a + (p->ta ? row : row * p->lda) * (int64_t)p->size;
    const char *b = p->b + (p->tb ? column * p->ldb : column) * (int64_t)p->size;
    char *c = p->c + (row * p->ldc + column) * (int64_t)p->size;
    const char *d = p->d ? p->d + (row * p->ldd + column) * (int64_t)p->size : NULL;
    if (p->blas) {
        for (int64_t i = 0; i < m && d; ++i) {
            memcpy(c + i * p->ldc * (int64_t)p->size, d + i * p->ldd * (int64_t)p->size,
                   n * p->size);
        }
        call_blas(p, a, b, c, m, n);
    } else {
        multiply_in_tiles(p, a, b, c, d, m, n);
    }
}

/* Parts that are as wide as may be, since each packs its own rows, and some for each thread. */
static void choose_bands(product *p)
{
    const int64_t threads = __atomic_load_n(&p->runtime->threads, __ATOMIC_RELAXED);
    const int64_t wanted = 4 * threads > ENOUGH_PARTS ? 4 * threads : ENOUGH_PARTS;
    const int64_t columns = smaller(p->n, ROUND_COLUMNS);
    int64_t rows = count(p->m, wanted);
    rows = rows < SHORTEST_SIDE ? SHORTEST_SIDE : smaller(rows, BLOCK_ROWS);
    p->part_rows = even_side(p->m, rows, TILE_ROWS);
    int64_t across = count(wanted, count(p->m, p->part_rows));
    across = smaller(across, count(columns, 2 * SHORTEST_SIDE));
    p->part_columns = count(count(columns, across), COLUMN_STEP) * COLUMN_STEP;
}

static struct {
    _Atomic int taken;
    void *room; /* for ROUND_BYTES, kept from the first large product on */
} shared;

static void forget_shared(void)
{
    atomic_store(&shared.taken, 0);
}

/* From which on that pays, as measured. */
enum { SHARED_ROWS = 384, SHARED_SIZE = 1 << 18, SHARED_WORK = 3 << 26 };

/* Packs what several parts need once for all of them. Gives 0, and has done nothing, where it does
   not pay, or where the room is taken: by another thread, or by what this one is a part of. */
static int multiply_together(product *p)
{
    if (p->m < SHARED_ROWS || p->n <= FEW_COLUMNS || p->m * p->n < SHARED_SIZE ||
        p->m * p->n * p->k < SHARED_WORK || atomic_exchange(&shared.taken, 1)) {
        return 0;
    }
    choose_bands(p);
    const int has_room = shared.room || !posix_memalign(&shared.room, 64, ROUND_BYTES);
    const int64_t a_line = p->ta ? 1 : p->lda, a_step = p->ta ? p->lda : 1;
    const int64_t b_line = p->tb ? p->ldb : 1, b_step = p->tb ? 1 : p->ldb;
    if (has_room && p->size == sizeof(float)) {
        f32_product_together(p, (f32_operand){(const float *)p->a, a_line, a_step},
                             (f32_operand){(const float *)p->b, b_line, b_step}, (float *)p->c,
                             (f32_operand){(const float *)p->d, p->ldd, 1}, shared.room);
    } else if (has_room) {
        f64_product_together(p, (f64_operand){(const double *)p->a, a_line, a_step},
                             (f64_operand){(const double *)p->b, b_line, b_step}, (double *)p->c,
                             (f64_operand){(const double *)p->d, p->ldd, 1}, shared.room);
    }
    atomic_store(&shared.taken, 0);
    return has_room;
}

static void multiply(product p)
{
    if (p.m <= 0 || p.n <= 0) {
        return;
    }
    p.lda = p.ta ? leading(p.k, p.m, p.lda) : leading(p.m, p.k, p.lda);
    p.ldb = p.tb ? leading(p.n, p.k, p.ldb) : leading(p.k, p.n, p.ldb);
    p.ldc = leading(p.m, p.n, p.ldc);
    if (p.k <= 0) {
        multiply_plainly(&p, p.a, p.b, p.c, p.d, p.m, p.n);
        return;
    }
    p.blas = chooses_blas(&p);
    if (!p.blas && multiply_together(&p)) {
        return;
    }
    choose_parts(&p);
    const int64_t parts = count(p.m, p.part_rows) * p.parts_across;
    if (p.blas) {
        enter_blas(p.runtime);
    }
    p.runtime->parallel(p.runtime, parts, multiply_part, &p);
    if (p.blas) {
        leave_blas(p.runtime);
    }
}

static void sgemm(const gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n, int64_t k,
                  const float *a, int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc,
                  const float *d, int64_t ldd)
{
    multiply((product){.runtime = runtime, .size = sizeof(float), .ta = ta, .tb = tb,
                       .m = m, .n = n, .k = k, .a = (const char *)a, .lda = lda,
                       .b = (const char *)b, .ldb = ldb, .c = (char *)c, .ldc = ldc,
                       .d = (const char *)d, .ldd = ldd});
}

static void dgemm(const gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n, int64_t k,
                  const double *a, int64_t lda, const double *b, int64_t ldb, double *c,
                  int64_t ldc, const double *d, int64_t ldd)
{
    multiply((product){.runtime = runtime, .size = sizeof(double), .ta = ta, .tb = tb,
                       .m = m, .n = n, .k = k, .a = (const char *)a, .lda = lda,
                       .b = (const char *)b, .ldb = ldb, .c = (char *)c, .ldc = ldc,
                       .d = (const char *)d, .ldd = ldd});
}

#endif
