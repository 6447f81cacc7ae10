/* Sizes and offsets as the compiler sees them. */
#include <stddef.h>

__attribute__((visibility("default"))) int layout_run(void **buffers, const double *floats,
                                                      const int64_t *ints,
                                                      const gradc_runtime *runtime,
                                                      gradc_error *error)
{
    int64_t *sizes = buffers[0];
    (void)floats, (void)ints, (void)runtime, (void)error;
    sizes[0] = sizeof(gradc_error);
    sizes[1] = offsetof(gradc_error, bound);
    sizes[2] = sizeof(gradc_runtime);
    sizes[3] = offsetof(gradc_runtime, blas_ilp64);
    return GRADC_FINE;
}
