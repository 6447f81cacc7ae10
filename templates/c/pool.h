/* A pool of plain threads. No OpenMP: its pool hangs in a forked child, and is not everywhere.

   A region (one parallel loop) is cut into one range of chunks per thread. Each thread works on its
   own range, which keeps the same data in the same cache from loop to loop, and then takes chunks
   from the others, so that a thread that the system does not run holds nobody up. A chunk is taken
   by a compare-and-swap on {number of the region, chunks left}: who comes too late, or wakes up in
   a later region than the one it saw, fails there and touches nothing. Nobody but the caller waits.

   Who is not the first caller (another thread of the process, or a body that calls again) runs its
   chunks itself. */
#ifndef GRADC_POOL_H
#define GRADC_POOL_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "gradc.h"

enum { MOST_THREADS = 256, CACHE_LINE = 64, STACK_BYTES = 4 << 20 };
enum { SPIN_NANOSECONDS = 50000, PAUSES_PER_LOOK = 16, LOOKS_PER_CLOCK = 16 };

typedef struct {
    _Alignas(CACHE_LINE) _Atomic uint64_t word; /* number of the region << 32 | chunks left */
} chunk_range;

static struct {
    _Alignas(CACHE_LINE) _Atomic uint32_t region; /* its number; a new one starts the work */
    _Atomic int32_t participants;
    _Atomic int32_t sleepers;
    _Atomic int stopping;
    gradc_body *body;
    void *context;
    int64_t chunks;
    _Alignas(CACHE_LINE) _Atomic int64_t unfinished; /* chunks */
    _Atomic int caller_sleeps;
    _Alignas(CACHE_LINE) _Atomic int taken; /* by a region, or by a change of the pool */
    int32_t workers;
    pthread_t threads[MOST_THREADS];
    chunk_range ranges[MOST_THREADS];
} pool;

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_started = PTHREAD_COND_INITIALIZER;
static pthread_cond_t pool_finished = PTHREAD_COND_INITIALIZER;

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int region_differs(int64_t seen)
{
    return atomic_load_explicit(&pool.region, memory_order_acquire) != (uint32_t)seen;
}

static int at_most_unfinished(int64_t bound)
{
    return atomic_load_explicit(&pool.unfinished, memory_order_acquire) <= bound;
}

/* Waits a little for condition(argument); returns whether it came true. */
static int spin_until(int (*condition)(int64_t), int64_t argument)
{
    int64_t deadline = 0;
    for (;;) {
        for (int look = 0; look < LOOKS_PER_CLOCK; look++) {
            for (int pause = 0; pause < PAUSES_PER_LOOK; pause++) {
                if (condition(argument)) {
                    return 1;
                }
                pause_briefly();
            }
        }
        int64_t now = nanoseconds();
        if (deadline == 0) {
            deadline = now + SPIN_NANOSECONDS;
        } else if (now > deadline) {
            return 0;
        }
    }
}

/* Takes a chunk of a range; from then until `unfinished` counts it, the region cannot end. */
static int take(int32_t range, uint32_t region, int64_t *chunk)
{
    _Atomic uint64_t *word = &pool.ranges[range].word;
    uint64_t found = atomic_load_explicit(word, memory_order_acquire);
    do {
        if (found >> 32 != region || (uint32_t)found == 0) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak_explicit(word, &found, found - 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    int32_t participants = atomic_load_explicit(&pool.participants, memory_order_relaxed);
    *chunk = pool.chunks * (range + 1) / participants - (int64_t)(uint32_t)found;
    return 1;
}

static void work(int32_t self, uint32_t region)
{
    int32_t participants = atomic_load_explicit(&pool.participants, memory_order_relaxed);
    int64_t done = 0;
    for (int32_t step = 0; self < participants && step < participants; step++) {
        int64_t chunk;
        while (take((self + step) % participants, region, &chunk)) {
            pool.body(pool.context, chunk);
            done++;
        }
    }
    if (done && atomic_fetch_sub(&pool.unfinished, done) == done &&
        atomic_load(&pool.caller_sleeps)) {
        pthread_mutex_lock(&pool_mutex);
        pthread_cond_signal(&pool_finished);
        pthread_mutex_unlock(&pool_mutex);
    }
}

static void await_region(uint32_t seen)
{
    if (spin_until(region_differs, seen)) {
        return;
    }
    pthread_mutex_lock(&pool_mutex);
    atomic_fetch_add(&pool.sleepers, 1);
    while (atomic_load(&pool.region) == seen) {
        pthread_cond_wait(&pool_started, &pool_mutex);
    }
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool_mutex);
}

static void await_end(void)
{
    if (spin_until(at_most_unfinished, 0)) {
        return;
    }
    pthread_mutex_lock(&pool_mutex);
    atomic_store(&pool.caller_sleeps, 1);
    while (atomic_load(&pool.unfinished)) {
        pthread_cond_wait(&pool_finished, &pool_mutex);
    }
    atomic_store(&pool.caller_sleeps, 0);
    pthread_mutex_unlock(&pool_mutex);
}

/* Numbers a new region and wakes who sleeps. */
static void announce(void)
{
    atomic_fetch_add(&pool.region, 1);
    if (atomic_load(&pool.sleepers)) {
        pthread_mutex_lock(&pool_mutex);
        pthread_cond_broadcast(&pool_started);
        pthread_mutex_unlock(&pool_mutex);
    }
}

static void *worker(void *number)
{
    uint32_t region = atomic_load(&pool.region);
    for (;;) {
        if (atomic_load(&pool.stopping)) {
            return NULL;
        }
        work((int32_t)(intptr_t)number, region);
        await_region(region);
        region = atomic_load(&pool.region);
    }
}

/* Signals stay with the threads of the caller, where their handlers expect to run. Fewer workers
   than wanted are no error: the others do their chunks. */
static void grow(int32_t workers)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pool.workers >= workers || pthread_attr_init(&attributes)) {
        return;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.workers < workers &&
           !pthread_create(&pool.threads[pool.workers], &attributes, worker,
                           (void *)(intptr_t)(pool.workers + 1))) {
        pool.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void stop(void)
{
    atomic_store(&pool.stopping, 1);
    announce();
    for (; pool.workers > 0; pool.workers--) {
        pthread_join(pool.threads[pool.workers - 1], NULL);
    }
    atomic_store(&pool.stopping, 0);
}

static void run_region(int32_t participants, int64_t chunks, gradc_body *body, void *context)
{
    uint32_t next = atomic_load(&pool.region) + 1;
    pool.body = body;
    pool.context = context;
    pool.chunks = chunks;
    atomic_store_explicit(&pool.participants, participants, memory_order_relaxed);
    atomic_store_explicit(&pool.unfinished, chunks, memory_order_relaxed);
    for (int32_t range = 0; range < participants; range++) {
        int64_t left = chunks * (range + 1) / participants - chunks * range / participants;
        atomic_store_explicit(&pool.ranges[range].word, (uint64_t)next << 32 | (uint64_t)left,
                              memory_order_release);
    }
    announce();
    work(0, next);
    await_end();
}

static void parallel(const gradc_runtime *runtime, int64_t chunks, gradc_body *body, void *context)
{
    int64_t threads = __atomic_load_n(&runtime->threads, __ATOMIC_RELAXED);
    threads = threads < chunks ? threads : chunks;
    if (threads < 2 || chunks > INT32_MAX || atomic_exchange(&pool.taken, 1)) {
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            body(context, chunk);
        }
        return;
    }
    grow((int32_t)threads - 1);
    run_region((int32_t)threads, chunks, body, context);
    atomic_store_explicit(&pool.taken, 0, memory_order_release);
}

static void resize(gradc_runtime *runtime, int64_t threads)
{
    while (atomic_exchange(&pool.taken, 1)) {
        sched_yield();
    }
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    __atomic_store_n(&runtime->threads, threads, __ATOMIC_RELAXED);
    if (pool.workers >= threads) {
        stop();
    }
    atomic_store_explicit(&pool.taken, 0, memory_order_release);
}

/* The child of a fork has none of the workers, nor the thread whose region may have been running;
   a new number makes sure that nobody takes what was left of it. */
static void forget_workers(void)
{
    pool.workers = 0;
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.stopping, 0);
    atomic_store(&pool.caller_sleeps, 0);
    atomic_store(&pool.unfinished, 0);
    atomic_fetch_add(&pool.region, 1);
    atomic_store(&pool.taken, 0);
    pthread_mutex_init(&pool_mutex, NULL);
    pthread_cond_init(&pool_started, NULL);
    pthread_cond_init(&pool_finished, NULL);
}

#endif
