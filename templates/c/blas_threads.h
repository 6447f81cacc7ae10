/* The threads that a BLAS has of its own: switched off while any product runs and restored after the
   last one, unless somebody else has set their number in between. */
#ifndef GRADC_BLAS_THREADS_H
#define GRADC_BLAS_THREADS_H

#include <pthread.h>

#include "gradc.h"

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

#endif
