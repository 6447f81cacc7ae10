/* counts[i] += 1 for each of ints[0] x ints[1] chunks: an outer region whose bodies run an inner
   one, ints[2] times over. */
typedef struct {
    const gradc_runtime *runtime;
    int64_t *counts;
    int64_t inner;
} visit;

static void count(void *context, int64_t chunk)
{
    ((int64_t *)context)[chunk]++;
}

static void run_inner(void *context, int64_t chunk)
{
    const visit *v = context;
    v->runtime->parallel(v->runtime, v->inner, count, v->counts + chunk * v->inner);
}

__attribute__((visibility("default"))) int visits_run(void **buffers, const double *floats,
                                                      const int64_t *ints,
                                                      const gradc_runtime *runtime,
                                                      gradc_error *error)
{
    (void)floats;
    visit v = {runtime, buffers[0], ints[1]};
    for (int64_t round = 0; round < ints[2]; round++) {
        runtime->parallel(runtime, ints[0], run_inner, &v);
    }
    error->code = GRADC_FINE;
    return error->code;
}
