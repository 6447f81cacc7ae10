/* Products by a CBLAS, whose function is called through a pointer. */
#ifndef GRADC_BLAS_H
#define GRADC_BLAS_H

#include <limits.h>

#include "gradc.h"
#include "number.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* as CBLAS numbers them */

/* c = a b, or d + a b, part by part. */
typedef struct {
    const gradc_runtime *runtime;
    int ta, tb;
    int64_t m, n, k, lda, ldb, ldc, ldd;
    const number *a, *b, *d;
    number *c;
    int64_t part_rows, part_columns, parts_across;
    int blas; /* multiplies the parts */
} product;

typedef void gemm_32(int, int, int, int, int, int, number, const number *, int, const number *, int,
                     number, number *, int);
typedef void gemm_64(int, int, int, int64_t, int64_t, int64_t, number, const number *, int64_t,
                     const number *, int64_t, number, number *, int64_t);

/* A part of m x n at a, b and c, where d is already, if there is one. */
static void call_blas(const product *p, const number *a, const number *b, number *c, int64_t m,
                      int64_t n)
{
    const int ta = p->ta ? TRANSPOSED : PLAIN, tb = p->tb ? TRANSPOSED : PLAIN;
    const number kept = p->d ? 1 : 0; /* of c */
    void *const function = p->runtime->BLAS_GEMM;
    if (p->runtime->blas_ilp64) {
        ((gemm_64 *)function)(ROW_MAJOR, ta, tb, m, n, p->k, 1, a, p->lda, b, p->ldb, kept, c,
                              p->ldc);
    } else {
        ((gemm_32 *)function)(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)p->k, 1, a, (int)p->lda, b,
                              (int)p->ldb, kept, c, (int)p->ldc);
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
