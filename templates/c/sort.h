/* The order of a line of elements: stable, with NaN as the largest. */
#ifndef GRADC_SORT_H
#define GRADC_SORT_H

#define GRADC_SORT_RUN 16

/* Runs are sorted by insertion and then merged, from `order` to `scratch` and back. An element goes
   before an earlier one only if it is truly smaller (or larger, where `descending`). */
#define GRADC_SORT(name, type, key, load)                                                         \
    static inline int gradc_before_##name(const type *line, int32_t a, int32_t b, int descending) \
    {                                                                                             \
        const key x = load(line + (descending ? b : a)), y = load(line + (descending ? a : b));   \
        return x < y || (y != y && x == x);                                                       \
    }                                                                                             \
                                                                                                  \
    static void gradc_merge_##name(const type *line, const int32_t *from, int32_t *to,            \
                                   int64_t start, int64_t middle, int64_t stop, int descending)   \
    {                                                                                             \
        int64_t left = start, right = middle;                                                     \
        for (int64_t i = start; i < stop; ++i) {                                                  \
            const int take_right =                                                                \
                left >= middle ||                                                                 \
                (right < stop && gradc_before_##name(line, from[right], from[left], descending)); \
            to[i] = take_right ? from[right++] : from[left++];                                    \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    static void gradc_sort_##name(const type *line, int64_t length, int descending,               \
                                  int32_t *order, int32_t *scratch)                               \
    {                                                                                             \
        int32_t *from = order, *to = scratch;                                                     \
        for (int64_t i = 0; i < length; ++i) {                                                    \
            int64_t place = i;                                                                    \
            const int64_t start = i - i % GRADC_SORT_RUN;                                         \
            while (place > start &&                                                               \
                   gradc_before_##name(line, (int32_t)i, order[place - 1], descending)) {         \
                order[place] = order[place - 1];                                                  \
                --place;                                                                          \
            }                                                                                     \
            order[place] = (int32_t)i;                                                            \
        }                                                                                         \
        for (int64_t run = GRADC_SORT_RUN; run < length; run *= 2) {                              \
            for (int64_t start = 0; start < length; start += 2 * run) {                           \
                const int64_t middle = start + run < length ? start + run : length;               \
                const int64_t stop = middle + run < length ? middle + run : length;               \
                gradc_merge_##name(line, from, to, start, middle, stop, descending);              \
            }                                                                                     \
            int32_t *const swap = from;                                                           \
            from = to;                                                                            \
            to = swap;                                                                            \
        }                                                                                         \
        if (from != order)                                                                        \
            memcpy(order, from, (size_t)length * sizeof *order);                                  \
    }

#define GRADC_SORT_LOAD(from) (*(from))
#define GRADC_PLAIN_SORT(name, type) GRADC_SORT(name, type, type, GRADC_SORT_LOAD)

#define GRADC_SORT_bool GRADC_SORT(bool, bool, bool, GRADC_SORT_LOAD)
#define GRADC_SORT_uint8 GRADC_PLAIN_SORT(uint8, uint8_t)
#define GRADC_SORT_int8 GRADC_PLAIN_SORT(int8, int8_t)
#define GRADC_SORT_int16 GRADC_PLAIN_SORT(int16, int16_t)
#define GRADC_SORT_int32 GRADC_PLAIN_SORT(int32, int32_t)
#define GRADC_SORT_int64 GRADC_PLAIN_SORT(int64, int64_t)
#define GRADC_SORT_float16 GRADC_SORT(float16, gradc_f16, float, gradc_load_f16)
#define GRADC_SORT_bfloat16 GRADC_SORT(bfloat16, gradc_bf16, float, gradc_load_bf16)
#define GRADC_SORT_float32 GRADC_PLAIN_SORT(float32, float)
#define GRADC_SORT_float64 GRADC_PLAIN_SORT(float64, double)

#endif
