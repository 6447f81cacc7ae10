/* Matrix products by a CBLAS that is called through pointers, since it is loaded at run time (NumPy
   brings one whose path is hashed and whose integers have 64 bits).

   A large product is cut into tiles of its output, each a product of its own on one thread. The
   tiles depend on the shape alone, so that the result does not depend on the number of threads. */
#ifndef GRADC_BLAS_H
#define GRADC_BLAS_H

#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "gradc.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* as CBLAS numbers them */
enum { LONGEST_SIDE = 512, SHORTEST_SIDE = 64, SIDE_STEP = 32 }; /* of a tile */
enum { ENOUGH_TILES = 8, LEAST_WORK = 1 << 19 };                 /* multiplications in a tile */

typedef struct {
    const gradc_runtime *runtime;
    size_t size; /* of an element: a float or a double */
    int ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const char *a, *b;
    char *c;
    int64_t tile_rows, tile_columns, tiles_across;
} product;

/* -- the BLAS's own threads ---------------------------------------------------------------------

   They are switched off while any product runs and restored after the last one, unless somebody
   else has set their number in between. */

static struct {
    pthread_mutex_t mutex;
    int products; /* running now */
    int threads;  /* to restore */
    int keep;     /* a fork left `threads` unrestored */
} blas = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void enter_blas(const gradc_runtime *runtime)
{
    if (!runtime->blas_set_threads) {
        return;
    }
    pthread_mutex_lock(&blas.mutex);
    if (blas.products++ == 0) {
        if (!blas.keep) {
            blas.threads = runtime->blas_get_threads();
        }
        blas.keep = 0;
        if (blas.threads != 1) {
            runtime->blas_set_threads(1);
        }
    }
    pthread_mutex_unlock(&blas.mutex);
}

static void leave_blas(const gradc_runtime *runtime)
{
    if (!runtime->blas_set_threads) {
        return;
    }
    pthread_mutex_lock(&blas.mutex);
    if (--blas.products == 0 && blas.threads != 1 && runtime->blas_get_threads() == 1) {
        runtime->blas_set_threads(blas.threads);
    }
    pthread_mutex_unlock(&blas.mutex);
}

static void forget_products(void)
{
    pthread_mutex_init(&blas.mutex, NULL);
    blas.keep = blas.keep || blas.products > 0;
    blas.products = 0;
}

/* -- one product on one thread ----------------------------------------------------------------- */

typedef void sgemm_32(int, int, int, int, int, int, float, const void *, int, const void *, int,
                      float, void *, int);
typedef void dgemm_32(int, int, int, int, int, int, double, const void *, int, const void *, int,
                      double, void *, int);
typedef void sgemm_64(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t,
                      const void *, int64_t, float, void *, int64_t);
typedef void dgemm_64(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t,
                      const void *, int64_t, double, void *, int64_t);

static void call_blas_32(const product *p, const void *a, const void *b, void *c, int m, int n)
{
    int ta = p->ta ? TRANSPOSED : PLAIN, tb = p->tb ? TRANSPOSED : PLAIN;
    int k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    if (p->size == sizeof(float)) {
        ((sgemm_32 *)p->runtime->blas_sgemm)(ROW_MAJOR, ta, tb, m, n, k, (float)p->alpha, a, lda, b,
                                             ldb, (float)p->beta, c, ldc);
    } else {
        ((dgemm_32 *)p->runtime->blas_dgemm)(ROW_MAJOR, ta, tb, m, n, k, p->alpha, a, lda, b, ldb,
                                             p->beta, c, ldc);
    }
}

static void call_blas_64(const product *p, const void *a, const void *b, void *c, int64_t m,
                         int64_t n)
{
    int ta = p->ta ? TRANSPOSED : PLAIN, tb = p->tb ? TRANSPOSED : PLAIN;
    if (p->size == sizeof(float)) {
        ((sgemm_64 *)p->runtime->blas_sgemm)(ROW_MAJOR, ta, tb, m, n, p->k, (float)p->alpha, a,
                                             p->lda, b, p->ldb, (float)p->beta, c, p->ldc);
    } else {
        ((dgemm_64 *)p->runtime->blas_dgemm)(ROW_MAJOR, ta, tb, m, n, p->k, p->alpha, a, p->lda, b,
                                             p->ldb, p->beta, c, p->ldc);
    }
}

static double element(const product *p, const char *array, int64_t index)
{
    return p->size == sizeof(float) ? (double)((const float *)array)[index]
                                    : ((const double *)array)[index];
}

/* The product by its definition: for k = 0, where BLAS differ, and for leading dimensions that the
   BLAS's integers do not hold. */
static void multiply_plainly(const product *p)
{
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            int64_t at = i * p->ldc + j;
            double sum = 0;
            for (int64_t l = 0; l < p->k; l++) {
                sum += element(p, p->a, p->ta ? l * p->lda + i : i * p->lda + l) *
                       element(p, p->b, p->tb ? j * p->ldb + l : l * p->ldb + j);
            }
            sum = p->alpha * sum + (p->beta == 0 ? 0 : p->beta * element(p, p->c, at));
            if (p->size == sizeof(float)) {
                ((float *)p->c)[at] = (float)sum;
            } else {
                ((double *)p->c)[at] = sum;
            }
        }
    }
}

/* -- tiles ------------------------------------------------------------------------------------- */

static int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static void multiply_tile(void *context, int64_t index)
{
    const product *p = context;
    int64_t row = index / p->tiles_across * p->tile_rows;
    int64_t column = index % p->tiles_across * p->tile_columns;
    int64_t m = smaller(p->tile_rows, p->m - row), n = smaller(p->tile_columns, p->n - column);
    const char *a = p->a + (p->ta ? row : row * p->lda) * (int64_t)p->size;
    const char *b = p->b + (p->tb ? column * p->ldb : column) * (int64_t)p->size;
    char *c = p->c + (row * p->ldc + column) * (int64_t)p->size;
    if (p->runtime->blas_ilp64) {
        call_blas_64(p, a, b, c, m, n);
    } else {
        call_blas_32(p, a, b, c, (int)m, (int)n);
    }
}

static int64_t count(int64_t length, int64_t tile)
{
    return (length + tile - 1) / tile;
}

/* Equal tiles of about `most` at most, in multiples of what the kernels of a BLAS like. */
static int64_t even_side(int64_t length, int64_t most)
{
    int64_t tiles = count(length, most);
    return (count(length, tiles) + SIDE_STEP - 1) / SIDE_STEP * SIDE_STEP;
}

/* The side of a tile, given the work per unit of it: long enough to be worth a call. */
static int64_t long_side(int64_t length, int64_t work)
{
    int64_t least = LEAST_WORK / work;
    return smaller(length, least > LONGEST_SIDE ? least : LONGEST_SIDE);
}

/* Tiles as large as the BLAS likes them for its packing, halved while they are few, but never below
   what is worth a hand-over. */
static void choose_tiles(product *p)
{
    int64_t columns = long_side(p->n, smaller(p->m, LONGEST_SIDE) * p->k);
    int64_t rows = long_side(p->m, columns * p->k);
    while (count(p->m, rows) * count(p->n, columns) < ENOUGH_TILES &&
           rows * columns >= 2 * LEAST_WORK / p->k &&
           (rows > SHORTEST_SIDE || columns > SHORTEST_SIDE)) {
        int64_t *longer = rows > columns ? &rows : &columns;
        *longer = even_side(*longer, (*longer + 1) / 2);
    }
    p->tile_rows = even_side(p->m, rows);
    p->tile_columns = even_side(p->n, columns);
}

/* A leading dimension that CBLAS accepts where its value does not matter. */
static int64_t leading(int64_t rows, int64_t columns, int64_t given)
{
    return rows > 1 ? given : columns > 1 ? columns : 1;
}

static int fits_blas(const product *p)
{
    int64_t largest = p->lda > p->ldb ? p->lda : p->ldb;
    largest = largest > p->ldc ? largest : p->ldc;
    largest = largest > p->k ? largest : p->k;
    return p->runtime->blas_ilp64 || largest <= INT_MAX;
}

static void multiply(product p)
{
    if (p.m <= 0 || p.n <= 0) {
        return;
    }
    p.lda = p.ta ? leading(p.k, p.m, p.lda) : leading(p.m, p.k, p.lda);
    p.ldb = p.tb ? leading(p.n, p.k, p.ldb) : leading(p.k, p.n, p.ldb);
    p.ldc = leading(p.m, p.n, p.ldc);
    if (p.k <= 0 || !fits_blas(&p)) {
        p.alpha = p.k > 0 ? p.alpha : 0;
        multiply_plainly(&p);
        return;
    }
    choose_tiles(&p);
    p.tiles_across = count(p.n, p.tile_columns);
    int64_t tiles = count(p.m, p.tile_rows) * p.tiles_across;
    enter_blas(p.runtime);
    p.runtime->parallel(p.runtime, tiles, multiply_tile, &p);
    leave_blas(p.runtime);
}

static void sgemm(const gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n, int64_t k,
                  float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                  float *c, int64_t ldc)
{
    multiply((product){.runtime = runtime, .size = sizeof(float), .ta = ta, .tb = tb,
                       .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta,
                       .a = (const char *)a, .lda = lda, .b = (const char *)b, .ldb = ldb,
                       .c = (char *)c, .ldc = ldc});
}

static void dgemm(const gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n, int64_t k,
                  double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                  double beta, double *c, int64_t ldc)
{
    multiply((product){.runtime = runtime, .size = sizeof(double), .ta = ta, .tb = tb,
                       .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta,
                       .a = (const char *)a, .lda = lda, .b = (const char *)b, .ldb = ldb,
                       .c = (char *)c, .ldc = ldc});
}

#endif
