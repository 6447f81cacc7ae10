/* Products of matrices of a `number`, block by block.

   A tile of TILE_ROWS rows and two vectors of columns of the result is summed in registers. What it
   needs are panels: so many rows of a and so many columns of b. They are packed, block by block, so
   that a tile reads them one after another and a block stays in a cache. A panel that few tiles
   share is read where it lies instead, if it can be. All of this follows from the sizes alone. */
#ifndef GRADC_GEMM_H
#define GRADC_GEMM_H

#include <string.h>

#include "number.h"
#include "vectors.h"

#if defined(__AVX512F__) || defined(__aarch64__)
enum { TILE_ROWS = 8 }; /* by two vectors: 16 sums, of 32 registers */
#else
enum { TILE_ROWS = 6 }; /* 12 sums, of 16 registers */
#endif

enum { DEPTH_BYTES = 2048 };                               /* of a line of a block */
enum { BLOCK_ROWS = 24 * TILE_ROWS, BLOCK_COLUMNS = 512 }; /* panels that a cache holds */
enum { SCRATCH_BYTES = (BLOCK_ROWS + BLOCK_COLUMNS) * DEPTH_BYTES };
enum { FEW_ROWS = 128, FEW_COLUMNS = 128 }; /* of c, for which it does not pay to pack b, or a */
enum { TURNED_STEPS = 16 };                 /* that are packed of one line before the next */

#define APART __attribute__((noinline))
#define UNROLLED _Pragma("GCC unroll 8")

#ifdef __clang__
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLED(a, b, ...) __builtin_shuffle(a, b, (four_bits){__VA_ARGS__})
#endif

static inline int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

enum {
    LANES = GRADC_VECTOR_BYTES / sizeof(number),
    TILE_COLUMNS = 2 * LANES,
    BLOCK_DEPTH = DEPTH_BYTES / sizeof(number)
};
typedef number vector
    __attribute__((vector_size(GRADC_VECTOR_BYTES), may_alias, aligned(sizeof(number))));
typedef number four
    __attribute__((vector_size(4 * sizeof(number)), may_alias, aligned(sizeof(number))));
typedef bits four_bits __attribute__((vector_size(4 * sizeof(bits))));

/* Of an operand: its lines are the rows of a, the columns of b, its steps go along the depth. */
typedef struct {
    const number *at;
    int64_t line, step; /* distances in memory */
} operand;

/* -- tiles ------------------------------------------------------------------------------------- */

/* TILE_ROWS rows, of which `rows` are kept, and some vectors of columns of c. They are added to
   `more`, unless that is NULL. The columns of b must lie side by side. */
GRADC_FUSED static inline __attribute__((always_inline)) void
sum_tile(int vectors, int64_t depth, const number *a, int64_t a_line, int64_t a_step,
         const number *b, int64_t b_step, number *c, int64_t c_row, int64_t rows,
         const number *more, int64_t more_row)
{
    GRADC_FUSED_BODY
    vector sums[TILE_ROWS][2] = {{{0}}};
    for (int i = 0; i < TILE_ROWS && i < rows; ++i) {
        for (int v = 0; v < vectors; ++v) {
            __builtin_prefetch(c + i * c_row + v * LANES, 1);
            if (more) {
                __builtin_prefetch(more + i * more_row + v * LANES);
            }
        }
    }
    for (int64_t step = 0; step < depth; ++step) {
        const vector x = *(const vector *)b;
        const vector y = *(const vector *)(b + (vectors > 1 ? LANES : 0));
        UNROLLED
        for (int i = 0; i < TILE_ROWS; ++i) {
            sums[i][0] += a[i * a_line] * x;
            if (vectors > 1) {
                sums[i][1] += a[i * a_line] * y;
            }
        }
        a += a_step;
        b += b_step;
    }
    UNROLLED
    for (int i = 0; i < TILE_ROWS; ++i) {
        if (i == rows) {
            return;
        }
        for (int v = 0; v < vectors; ++v) {
            vector *const to = (vector *)(c + i * c_row + v * LANES);
            if (more) {
                sums[i][v] += *(const vector *)(more + i * more_row + v * LANES);
            }
            *to = sums[i][v];
        }
    }
}

GRADC_FUSED APART static void wide_tile(int64_t depth, const number *a, int64_t a_line,
                                        int64_t a_step, const number *b, int64_t b_step,
                                        number *c, int64_t c_row, int64_t rows,
                                        const number *more, int64_t more_row)
{
    /* so that nothing is asked in vain, and rows that lie side by side do at constant distances */
    if (a_line == 1 && more) {
        sum_tile(2, depth, a, 1, a_step, b, b_step, c, c_row, rows, more, more_row);
    } else if (a_line == 1) {
        sum_tile(2, depth, a, 1, a_step, b, b_step, c, c_row, rows, NULL, 0);
    } else if (more) {
        sum_tile(2, depth, a, a_line, a_step, b, b_step, c, c_row, rows, more, more_row);
    } else {
        sum_tile(2, depth, a, a_line, a_step, b, b_step, c, c_row, rows, NULL, 0);
    }
}

GRADC_FUSED APART static void narrow_tile(int64_t depth, const number *a, int64_t a_line,
                                          int64_t a_step, const number *b, int64_t b_step,
                                          number *c, int64_t c_row, int64_t rows,
                                          const number *more, int64_t more_row)
{
    sum_tile(1, depth, a, a_line, a_step, b, b_step, c, c_row, rows, more, more_row);
}

/* A tile of which `width` columns are kept. */
static inline void tile(int64_t depth, operand a, operand b, number *c, int64_t c_row,
                        int64_t rows, int64_t width, operand more)
{
    if (width >= TILE_COLUMNS) {
        wide_tile(depth, a.at, a.line, a.step, b.at, b.step, c, c_row, rows, more.at, more.line);
        return;
    }
    if (width == LANES) {
        narrow_tile(depth, a.at, a.line, a.step, b.at, b.step, c, c_row, rows, more.at, more.line);
        return;
    }
    number whole[TILE_ROWS * TILE_COLUMNS];
    (width > LANES ? wide_tile : narrow_tile)(depth, a.at, a.line, a.step, b.at, b.step, whole,
                                              TILE_COLUMNS, rows, NULL, 0);
    for (int64_t i = 0; i < rows && i < TILE_ROWS; ++i) {
        for (int64_t j = 0; j < width; ++j) {
            const number sum = whole[i * TILE_COLUMNS + j];
            c[i * c_row + j] = more.at ? more.at[i * more.line + j] + sum : sum;
        }
    }
}

/* -- packing ----------------------------------------------------------------------------------- */

/* The lines of a panel side by side, step after step; zeros for those that lack. */
static inline __attribute__((always_inline)) void
pack_lines(number *to, int64_t width, operand from, int64_t lines, int64_t depth)
{
    if (lines >= width) {
        for (int64_t step = 0; step < depth; ++step) {
            memcpy(to + step * width, from.at + step * from.step, width * sizeof(number));
        }
        return;
    }
    for (int64_t step = 0; step < depth; ++step) {
        for (int64_t line = 0; line < width; ++line) {
            to[step * width + line] = line < lines ? from.at[step * from.step + line] : 0;
        }
    }
}

/* The same where it is the steps that lie side by side: four lines by four steps at a time. */
static inline __attribute__((always_inline)) void
turn_lines(number *to, int64_t width, operand from, int64_t lines, int64_t depth)
{
    static const number zeros[BLOCK_DEPTH];
    const int64_t fours = depth & -4;
    for (int64_t some = 0; some < fours; some += TURNED_STEPS) {
        const int64_t stop = some + TURNED_STEPS < fours ? some + TURNED_STEPS : fours;
        UNROLLED
        for (int64_t line = 0; line < width; line += 4) {
            const size_t kept = width - line < 4 ? width - line : 4;
            const number *at[4];
            for (int i = 0; i < 4; ++i) {
                at[i] = line + i < lines ? from.at + (line + i) * from.line : zeros;
            }
            for (int64_t step = some; step < stop; step += 4) {
                const four a = *(const four *)(at[0] + step);
                const four b = *(const four *)(at[1] + step);
                const four c = *(const four *)(at[2] + step);
                const four d = *(const four *)(at[3] + step);
                const four low_ab = SHUFFLED(a, b, 0, 4, 1, 5);
                const four high_ab = SHUFFLED(a, b, 2, 6, 3, 7);
                const four low_cd = SHUFFLED(c, d, 0, 4, 1, 5);
                const four high_cd = SHUFFLED(c, d, 2, 6, 3, 7);
                const four turned[4] = {
                    SHUFFLED(low_ab, low_cd, 0, 1, 4, 5),
                    SHUFFLED(low_ab, low_cd, 2, 3, 6, 7),
                    SHUFFLED(high_ab, high_cd, 0, 1, 4, 5),
                    SHUFFLED(high_ab, high_cd, 2, 3, 6, 7),
                };
                for (int i = 0; i < 4; ++i) {
                    memcpy(to + (step + i) * width + line, &turned[i], kept * sizeof(number));
                }
            }
        }
    }
    for (int64_t step = fours; step < depth; ++step) {
        for (int64_t line = 0; line < width; ++line) {
            to[step * width + line] = line < lines ? from.at[line * from.line + step] : 0;
        }
    }
}

static operand lines_from(operand from, int64_t line)
{
    from.at += line * from.line;
    return from;
}

/* Packs the panels of `width` lines that begin at line `first` or later. */
static inline __attribute__((always_inline)) void
pack(number *to, int64_t width, operand from, int64_t first, int64_t lines, int64_t depth)
{
    for (int64_t line = first; line < lines; line += width) {
        if (from.line == 1) {
            pack_lines(to + line * depth, width, lines_from(from, line), lines - line, depth);
        } else {
            turn_lines(to + line * depth, width, lines_from(from, line), lines - line, depth);
        }
    }
}

APART static void pack_rows(number *to, operand a, int64_t first, int64_t rows, int64_t depth)
{
    pack(to, TILE_ROWS, a, first, rows, depth);
}

APART static void pack_columns(number *to, operand b, int64_t first, int64_t columns,
                               int64_t depth)
{
    pack(to, TILE_COLUMNS, b, first, columns, depth);
}

/* -- products ---------------------------------------------------------------------------------- */

/* What `more` adds from a row and a column on. */
static inline operand part_of(operand more, int64_t row, int64_t column)
{
    if (more.at) {
        more.at += row * more.line + column;
    }
    return more;
}

/* A block of c, whose operands' panels lie in place as far as told, and in scratch else; to which
   `more` is added, if it is anywhere. */
static void multiply_block(int64_t rows, int64_t columns, int64_t depth, operand a,
                           int64_t rows_in_place, const number *scratch_a, operand b,
                           int64_t columns_in_place, const number *scratch_b, number *c,
                           int64_t c_row, operand more)
{
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
        const operand right = j < columns_in_place
                                  ? lines_from(b, j)
                                  : (operand){scratch_b + j * depth, 1, TILE_COLUMNS};
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            const operand left = i < rows_in_place
                                     ? lines_from(a, i)
                                     : (operand){scratch_a + i * depth, 1, TILE_ROWS};
            tile(depth, left, right, c + i * c_row + j, c_row, rows - i, columns - j,
                 part_of(more, i, j));
        }
    }
}

/* c = more + a b on this thread, with room for SCRATCH_BYTES in `scratch`. */
static void multiply_blocks(int64_t m, int64_t n, int64_t k, operand a, operand b, number *c,
                            int64_t c_row, operand more, number *scratch)
{
    const int64_t blocks = (k + BLOCK_DEPTH - 1) / BLOCK_DEPTH;
    const int a_in_place = n <= FEW_COLUMNS, b_in_place = b.line == 1 && m <= FEW_ROWS;
    for (int64_t j = 0; j < n; j += BLOCK_COLUMNS) {
        const int64_t columns = smaller(n - j, BLOCK_COLUMNS);
        const int64_t whole = columns % LANES ? columns / TILE_COLUMNS * TILE_COLUMNS : columns;
        const int64_t columns_in_place = b_in_place ? whole : 0;
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t step = k * block / blocks, depth = k * (block + 1) / blocks - step;
            const operand added = block ? (operand){c, c_row, 1} : more;
            number *const scratch_b = scratch + BLOCK_ROWS * depth;
            const operand right = {b.at + j * b.line + step * b.step, b.line, b.step};
            pack_columns(scratch_b, right, columns_in_place, columns, depth);
            for (int64_t i = 0; i < m; i += BLOCK_ROWS) {
                const int64_t rows = smaller(m - i, BLOCK_ROWS);
                const int64_t rows_in_place = a_in_place ? rows / TILE_ROWS * TILE_ROWS : 0;
                const operand left = {a.at + i * a.line + step * a.step, a.line, a.step};
                pack_rows(scratch, left, rows_in_place, rows, depth);
                multiply_block(rows, columns, depth, left, rows_in_place, scratch, right,
                               columns_in_place, scratch_b, c + i * c_row + j, c_row,
                               part_of(added, i, j));
            }
        }
    }
}

#endif
