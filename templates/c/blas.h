/* Products by a CBLAS, whose functions are called through pointers. */
#ifndef GRADC_BLAS_H
#define GRADC_BLAS_H

#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "gradc.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* as CBLAS numbers them */

/* c = a b, or d + a b, part by part. */
typedef struct {
    const gradc_runtime *runtime;
    size_t size; /* of an element: a float or a double */
    int ta, tb;
    int64_t m, n, k, lda, ldb, ldc, ldd;
    const char *a, *b, *d;
    char *c;
    int64_t part_rows, part_columns, parts_across;
    int blas; /* multiplies the parts */
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
        ((sgemm_32 *)p->runtime->blas_sgemm)(ROW_MAJOR, ta, tb, m, n, k, 1, a, lda, b,
                                             ldb, p->d ? 1 : 0, c, ldc);
    } else {
        ((dgemm_32 *)p->runtime->blas_dgemm)(ROW_MAJOR, ta, tb, m, n, k, 1, a, lda, b, ldb,
                                             p->d ? 1 : 0, c, ldc);
    }
}

static void call_blas_64(const product *p, const void *a, const void *b, void *c, int64_t m,
                         int64_t n)
{
    int ta = p->ta ? TRANSPOSED : PLAIN, tb = p->tb ? TRANSPOSED : PLAIN;
    if (p->size == sizeof(float)) {
        ((sgemm_64 *)p->runtime->blas_sgemm)(ROW_MAJOR, ta, tb, m, n, p->k, 1, a,
                                             p->lda, b, p->ldb, p->d ? 1 : 0, c, p->ldc);
    } else {
        ((dgemm_64 *)p->runtime->blas_dgemm)(ROW_MAJOR, ta, tb, m, n, p->k, 1, a, p->lda, b,
                                             p->ldb, p->d ? 1 : 0, c, p->ldc);
    }
}

/* A part of m x n at a, b and c, where d is already, if there is one. */
static void call_blas(const product *p, const char *a, const char *b, char *c, int64_t m, int64_t n)
{
    if (p->runtime->blas_ilp64) {
        call_blas_64(p, a, b, c, m, n);
    } else {
        call_blas_32(p, a, b, c, (int)m, (int)n);
    }
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

#endif
