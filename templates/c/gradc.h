/* The C interface between a built program and the run time that calls it. It is part of every
   source by text, so that a change here gives every library a new key. The Python side reads the
   same declarations: runtime/_interface.py is made from this file. */
#ifndef GRADC_H
#define GRADC_H

#include <stdint.h>

/* Why a program gave up, and at which of its checks; nothing was written in place before. */
enum gradc_code { GRADC_FINE = 0, GRADC_INDEX = 1, GRADC_MEMORY = 2 };

typedef struct {
    int32_t code;     /* one of gradc_code */
    int32_t node;     /* the number of the check */
    int64_t position; /* where in the array of indices */
    int64_t found;    /* the index itself */
    int64_t bound;    /* what it should have been below */
} gradc_error;

struct gradc_runtime;

/* One chunk of a parallel loop. */
typedef void gradc_body(void *context, int64_t chunk);

/* Runs body(context, 0) to body(context, chunks - 1), in any order, on any thread. */
typedef void gradc_parallel(const struct gradc_runtime *runtime, int64_t chunks, gradc_body *body,
                            void *context);

/* c = a b for row-major m x k times k x n, or c = d + a b; ta and tb say that a and b are stored
   transposed. A leading dimension may be anything where there is one row. That of d may be 0: then
   one row is added to all. d is NULL where nothing is added, and else no part of c. */
typedef void gradc_sgemm(const struct gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n,
                         int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                         float *c, int64_t ldc, const float *d, int64_t ldd);
typedef void gradc_dgemm(const struct gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n,
                         int64_t k, const double *a, int64_t lda, const double *b, int64_t ldb,
                         double *c, int64_t ldc, const double *d, int64_t ldd);

/* What a program may call. */
typedef struct gradc_runtime {
    int64_t threads;
    gradc_parallel *parallel;
    gradc_sgemm *sgemm; /* NULL until the library that has it is loaded */
    gradc_dgemm *dgemm;
    /* The rest belongs to the run time. */
    void *blas_sgemm;              /* the functions of CBLAS; NULL where there is none */
    void *blas_dgemm;
    int (*blas_get_threads)(void); /* NULL where the BLAS has no threads of its own */
    void (*blas_set_threads)(int);
    void (*enter_blas)(const struct gradc_runtime *runtime); /* before products by it, and after */
    void (*leave_blas)(const struct gradc_runtime *runtime);
    int32_t blas_ilp64;            /* CBLAS takes int64_t, not int */
    int32_t blas_always;           /* it was asked for: no product by other means */
} gradc_runtime;

/* The one entry point of a program; returns gradc_error.code. */
typedef int gradc_run(void **buffers, const double *floats, const int64_t *ints,
                      const gradc_runtime *runtime, gradc_error *error);

/* Of the support library: completes a table whose blas_* are filled in, and changes the number of
   threads of one; not from within a body. */
void gradc_complete(gradc_runtime *runtime, int64_t threads);
void gradc_resize(gradc_runtime *runtime, int64_t threads);

/* Of a library of products: enters its own into a table. */
void gradc_complete_products(gradc_runtime *runtime);

#endif
