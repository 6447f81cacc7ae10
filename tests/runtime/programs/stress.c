/* The pool under a sanitizer: callers on three threads, regions of all sizes, bodies that call
   again, and a fourth thread that changes the number of threads meanwhile. Prints "fine". */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.c"

enum { CALLERS = 3, ROUNDS = 1500, MOST_CHUNKS = 300, INNER = 5, RESIZES = 40 };

typedef struct {
    const gradc_runtime *runtime;
    int nested;
    int counts[MOST_CHUNKS];
} region;

static void visit(void *context, int64_t chunk)
{
    region *r = context;
    r->counts[chunk]++;
    if (r->nested && chunk % 7 == 0) {
        region inner = {.runtime = r->runtime};
        r->runtime->parallel(r->runtime, INNER, visit, &inner);
        for (int i = 0; i < INNER; i++) {
            if (inner.counts[i] != 1) {
                abort();
            }
        }
    }
}

static void *call(void *runtime)
{
    unsigned seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        region r = {.runtime = runtime, .nested = round % 3 == 0};
        int chunks = rand_r(&seed) % MOST_CHUNKS;
        r.runtime->parallel(runtime, chunks, visit, &r);
        for (int i = 0; i < MOST_CHUNKS; i++) {
            if (r.counts[i] != (i < chunks)) {
                abort();
            }
        }
        if (round % 100 == 0) {
            usleep(200); /* workers fall asleep */
        }
    }
    return NULL;
}

int main(void)
{
    gradc_runtime runtime = {0};
    pthread_t callers[CALLERS];
    gradc_complete(&runtime, 4);
    for (int i = 0; i < CALLERS; i++) {
        pthread_create(&callers[i], NULL, call, &runtime);
    }
    for (int i = 0; i < RESIZES; i++) {
        gradc_resize(&runtime, 1 + i % 6);
        usleep(1000);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i], NULL);
    }
    gradc_resize(&runtime, 1);
    puts("fine");
    return 0;
}
