/* The order of a line of elements: stable, with NaN as the largest. */
#ifndef GRADC_SORT_H
#define GRADC_SORT_H

#define GRADC_SORT_RUN 16
#define GRADC_SORT_FEW 64     /* places that are found by looking at each element once */
#define GRADC_SORT_LONG 256   /* elements from which on digits are counted */

/* An element of up to 32 bits stands as a key, whose order as a number is that of the elements,
   above its place: equal elements keep theirs. */

static inline uint32_t gradc_key_float32(float x)
{
    const uint32_t bits = gradc_float_bits(x + 0.0f); /* of both zeros the positive one */
    const uint32_t turned = bits >> 31 ? ~bits : bits | 0x80000000u;
    return x == x ? turned : 0xFFFFFFFFu;
}

static inline uint32_t gradc_key_int32(int32_t x) { return (uint32_t)x ^ 0x80000000u; }

/* Sorts short lines by insertion into runs that are merged, to `items` or to `other`. */
static inline uint64_t *gradc_sort_merged(uint64_t *items, uint64_t *other, int64_t length)
{
    for (int64_t i = 0; i < length; ++i) {
        const uint64_t item = items[i];
        const int64_t start = i - i % GRADC_SORT_RUN;
        int64_t place = i;
        for (; place > start && items[place - 1] > item; --place)
            items[place] = items[place - 1];
        items[place] = item;
    }
    for (int64_t run = GRADC_SORT_RUN; run < length; run *= 2) {
        for (int64_t start = 0; start < length; start += 2 * run) {
            const int64_t middle = start + run < length ? start + run : length;
            const int64_t stop = middle + run < length ? middle + run : length;
            int64_t left = start, right = middle;
            for (int64_t i = start; i < stop; ++i) {
                const int take_right =
                    left >= middle || (right < stop && items[right] < items[left]);
                other[i] = items[take_right ? right : left];
                right += take_right;
                left += !take_right;
            }
        }
        uint64_t *const swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* Sorts long lines by the digits of their keys, the last first; a digit that all share is left. */
static inline uint64_t *gradc_sort_digits(uint64_t *items, uint64_t *other, int64_t length)
{
    GRADC_LINED uint32_t counts[4][256];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < length; ++i)
        for (int digit = 0; digit < 4; ++digit)
            ++counts[digit][items[i] >> (32 + 8 * digit) & 0xFF];
    for (int digit = 0; digit < 4; ++digit) {
        uint32_t *const count = counts[digit];
        const int shift = 32 + 8 * digit;
        if (count[items[0] >> shift & 0xFF] == (uint32_t)length)
            continue;
        uint32_t next = 0;
        for (int value = 0; value < 256; ++value) {
            const uint32_t own = count[value];
            count[value] = next;
            next += own;
        }
        for (int64_t i = 0; i < length; ++i)
            other[count[items[i] >> shift & 0xFF]++] = items[i];
        uint64_t *const swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* A key, and its element's place; a line that descends is sorted by what the keys lack. */
#define GRADC_SORT(name, type, key)                                                               \
    static inline uint64_t gradc_item_##name(const type *line, int64_t i, uint32_t turn)          \
    {                                                                                             \
        return (uint64_t)(key(line[i]) ^ turn) << 32 | (uint64_t)i;                               \
    }                                                                                             \
                                                                                                  \
    static inline void gradc_few_##name(const type *line, int64_t length, int64_t count,          \
                                        uint32_t turn, int32_t *order)                            \
    {                                                                                             \
        GRADC_LINED uint64_t best[GRADC_SORT_FEW];                                                \
        for (int64_t i = 0; i < count; ++i)                                                       \
            best[i] = UINT64_MAX;                                                                 \
        for (int64_t i = 0; i < length; ++i) {                                                    \
            const uint64_t item = gradc_item_##name(line, i, turn);                               \
            if (item >= best[count - 1])                                                          \
                continue;                                                                         \
            int64_t place = count - 1;                                                            \
            for (; place > 0 && best[place - 1] > item; --place)                                  \
                best[place] = best[place - 1];                                                    \
            best[place] = item;                                                                   \
        }                                                                                         \
        for (int64_t i = 0; i < count; ++i)                                                       \
            order[i] = (int32_t)(uint32_t)best[i];                                                \
    }                                                                                             \
                                                                                                  \
    /* The first `count` places; `scratch` has two lines. */                                      \
    static void gradc_sort_##name(const type *line, int64_t length, int64_t count,                \
                                  int descending, int32_t *order, uint64_t *scratch)              \
    {                                                                                             \
        const uint32_t turn = descending ? 0xFFFFFFFFu : 0;                                       \
        if (count <= 0)                                                                           \
            return;                                                                               \
        if (count <= GRADC_SORT_FEW && count * 8 <= length) {                                     \
            gradc_few_##name(line, length, count, turn, order);                                   \
            return;                                                                               \
        }                                                                                         \
        for (int64_t i = 0; i < length; ++i)                                                      \
            scratch[i] = gradc_item_##name(line, i, turn);                                        \
        const uint64_t *const items =                                                             \
            length < GRADC_SORT_LONG ? gradc_sort_merged(scratch, scratch + length, length)       \
                                     : gradc_sort_digits(scratch, scratch + length, length);      \
        for (int64_t i = 0; i < count; ++i)                                                       \
            order[i] = (int32_t)(uint32_t)items[i];                                               \
    }

#define GRADC_KEY_HALF_float16(x) gradc_key_float32(gradc_load_f16(&(x)))
#define GRADC_KEY_HALF_bfloat16(x) gradc_key_float32(gradc_load_bf16(&(x)))
#define GRADC_KEY_SMALL(x) gradc_key_int32((int32_t)(x))

#define GRADC_SORT_bool GRADC_SORT(bool, bool, GRADC_KEY_SMALL)
#define GRADC_SORT_uint8 GRADC_SORT(uint8, uint8_t, GRADC_KEY_SMALL)
#define GRADC_SORT_int8 GRADC_SORT(int8, int8_t, GRADC_KEY_SMALL)
#define GRADC_SORT_int16 GRADC_SORT(int16, int16_t, GRADC_KEY_SMALL)
#define GRADC_SORT_int32 GRADC_SORT(int32, int32_t, GRADC_KEY_SMALL)
#define GRADC_SORT_float16 GRADC_SORT(float16, gradc_f16, GRADC_KEY_HALF_float16)
#define GRADC_SORT_bfloat16 GRADC_SORT(bfloat16, gradc_bf16, GRADC_KEY_HALF_bfloat16)
#define GRADC_SORT_float32 GRADC_SORT(float32, float, gradc_key_float32)

/* Elements of 64 bits: places are sorted, in runs that are merged from `order` to `other` and back.
   An element goes before an earlier one only if it is truly smaller (or larger, where
   `descending`). */
#define GRADC_SORT_WIDE(name, type)                                                               \
    static inline int gradc_before_##name(const type *line, int32_t a, int32_t b, int descending) \
    {                                                                                             \
        const type x = line[descending ? b : a], y = line[descending ? a : b];                    \
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
    static void gradc_sort_##name(const type *line, int64_t length, int64_t count,                \
                                  int descending, int32_t *order, uint64_t *scratch)              \
    {                                                                                             \
        int32_t *from = (int32_t *)scratch, *to = (int32_t *)(scratch + length);                  \
        for (int64_t i = 0; i < length; ++i) {                                                    \
            int64_t place = i;                                                                    \
            const int64_t start = i - i % GRADC_SORT_RUN;                                         \
            while (place > start &&                                                               \
                   gradc_before_##name(line, (int32_t)i, from[place - 1], descending)) {          \
                from[place] = from[place - 1];                                                    \
                --place;                                                                          \
            }                                                                                     \
            from[place] = (int32_t)i;                                                             \
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
        memcpy(order, from, (size_t)count * sizeof *order);                                       \
    }

#define GRADC_SORT_int64 GRADC_SORT_WIDE(int64, int64_t)
#define GRADC_SORT_float64 GRADC_SORT_WIDE(float64, double)

#endif
