/* What programs call at run time. Built once per compiler; nothing here depends on a program. */
#include "blas_threads.h"
#include "gradc.h"
#include "pool.h"

#define EXPORT __attribute__((visibility("default")))

static void before_fork(void)
{
    pthread_mutex_lock(&pool_mutex);
    pthread_mutex_lock(&blas.mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&blas.mutex);
    pthread_mutex_unlock(&pool_mutex);
}

static void after_fork_in_child(void)
{
    forget_workers();
    forget_products();
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

EXPORT void gradc_resize(gradc_runtime *runtime, int64_t threads)
{
    resize(runtime, threads);
}

EXPORT void gradc_complete(gradc_runtime *runtime, int64_t threads)
{
    runtime->threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    runtime->parallel = parallel;
    runtime->enter_blas = enter_blas;
    runtime->leave_blas = leave_blas;
}
