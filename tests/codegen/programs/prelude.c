/* The functions of the prelude over arrays, for tests. Built with gradc.h and prelude.h before it. */

#define EXPORT __attribute__((visibility("default")))

#define BINARY(name, type)                                                                        \
    EXPORT void run_##name(int64_t n, const type *a, const type *b, type *y)                      \
    {                                                                                             \
        for (int64_t i = 0; i < n; ++i)                                                           \
            y[i] = gradc_##name(a[i], b[i]);                                                      \
    }

#define UNARY(name, from, to)                                                                     \
    EXPORT void run_##name(int64_t n, const from *a, to *y)                                       \
    {                                                                                             \
        for (int64_t i = 0; i < n; ++i)                                                           \
            y[i] = gradc_##name(a[i]);                                                            \
    }

#define LOAD(name, from)                                                                          \
    EXPORT void run_load_##name(int64_t n, const from *a, float *y)                               \
    {                                                                                             \
        for (int64_t i = 0; i < n; ++i)                                                           \
            y[i] = gradc_load_##name(a + i);                                                      \
    }

#define STORE(name, to)                                                                           \
    EXPORT void run_store_##name(int64_t n, const float *a, to *y)                                \
    {                                                                                             \
        for (int64_t i = 0; i < n; ++i)                                                           \
            gradc_store_##name(y + i, a[i]);                                                      \
    }

#define INTEGERS(kind, type)                                                                      \
    BINARY(floordiv_##kind, type)                                                                 \
    BINARY(mod_##kind, type)                                                                      \
    BINARY(pow_##kind, type)                                                                      \
    BINARY(shift_left_##kind, type)                                                               \
    BINARY(shift_right_##kind, type)                                                              \
    BINARY(max_##kind, type)                                                                      \
    BINARY(min_##kind, type)
INTEGERS(i32, int32_t)
INTEGERS(i64, int64_t)

#define FLOATS(kind, type)                                                                        \
    BINARY(floordiv_##kind, type)                                                                 \
    BINARY(mod_##kind, type)                                                                      \
    BINARY(logaddexp_##kind, type)                                                                \
    BINARY(max_##kind, type)                                                                      \
    BINARY(min_##kind, type)                                                                      \
    UNARY(to_u8_##kind, type, uint8_t)                                                            \
    UNARY(to_i8_##kind, type, int8_t)                                                             \
    UNARY(to_i16_##kind, type, int16_t)                                                           \
    UNARY(to_i32_##kind, type, int32_t)                                                           \
    UNARY(to_i64_##kind, type, int64_t)
FLOATS(f32, float)
FLOATS(f64, double)

LOAD(f16, gradc_f16)
LOAD(bf16, gradc_bf16)
STORE(f16, gradc_f16)
STORE(bf16, gradc_bf16)
UNARY(round_f16, float, float)
UNARY(round_bf16, float, float)

EXPORT void run_place(int64_t n, const int64_t *found, int64_t least, int64_t size, int64_t *y,
                      gradc_error *error)
{
    for (int64_t i = 0; i < n; ++i)
        y[i] = gradc_place(error, 7, i, found[i], least, size);
}

static void count(void *context, int64_t chunk)
{
    const gradc_call *call = context;
    ((int64_t *)call->buffers[0])[chunk] += chunk + 1;
}

EXPORT void run_serial(int64_t chunks, int64_t *y)
{
    void *const buffers[] = {y};
    const gradc_call call = {buffers, 0, 0, 0, 0};
    gradc_serial(chunks, count, &call);
}
