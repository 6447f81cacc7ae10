/* The pool under a sanitizer: callers on three threads, regions of all sizes, bodies that call
   again, products for which all threads pack together, and a fourth thread that changes the number
   of threads meanwhile. Prints "fine". */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.c"

#include "products.c"

enum { HEIGHT = 520, WIDTH = 520, DEPTH = 750, PRIME = 97 };
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

/* Whole numbers, whose sums are exact; some of them are looked at. */
static void multiply_large(const gradc_runtime *runtime)
{
    float *a = malloc(HEIGHT * DEPTH * sizeof *a), *b = malloc(DEPTH * WIDTH * sizeof *b);
    float *c = malloc(HEIGHT * WIDTH * sizeof *c);
    for (int i = 0; i < HEIGHT * DEPTH; i++) {
        a[i] = (float)(i % 3);
    }
    for (int i = 0; i < DEPTH * WIDTH; i++) {
        b[i] = (float)(i % 5);
    }
    runtime->sgemm(runtime, 0, 0, HEIGHT, WIDTH, DEPTH, a, DEPTH, b, WIDTH, c, WIDTH, NULL, 0);
    for (int i = 0; i < HEIGHT * WIDTH; i += PRIME) {
        int sum = 0;
        for (int k = 0; k < DEPTH; k++) {
            sum += (i / WIDTH * DEPTH + k) % 3 * ((k * WIDTH + i % WIDTH) % 5);
        }
        if (c[i] != (float)sum) {
            abort();
        }
    }
    free(a), free(b), free(c);
}

static void *call(void *runtime)
{
    unsigned seed = 1;
    multiply_large(runtime);
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
    gradc_complete_products(&runtime);
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
