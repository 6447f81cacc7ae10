/* Products of matrices of a `number`: by tiles in registers or by a BLAS, whichever is faster, on all
   threads. */
#ifndef GRADC_PRODUCTS_H
#define GRADC_PRODUCTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "gemm.h"
#include "gradc.h"
#include "number.h"

/* -- parts, which threads take one by one -------------------------------------------------------

   They do not change what is added up for an element of the result, nor in which order. */

enum { LONGEST_SIDE = 512, SHORTEST_SIDE = 64 }; /* of what a thread multiplies at a time */
enum { ROW_STEP = 4 * TILE_ROWS, COLUMN_STEP = 32 };
enum { ENOUGH_PARTS = 8, LEAST_WORK = 1 << 19 }; /* how many such parts, multiplications in one */

static int64_t count(int64_t length, int64_t part)
{
    return (length + part - 1) / part;
}

/* Equal parts of about `most` at most, in multiples of `step`. */
static int64_t even_side(int64_t length, int64_t most, int64_t step)
{
    const int64_t parts = count(length, most);
    return count(count(length, parts), step) * step;
}

/* The side of a part, given the work per unit of it: long enough to be worth a hand-over. */
static int64_t long_side(int64_t length, int64_t work)
{
    const int64_t least = LEAST_WORK / work;
    return smaller(length, least > LONGEST_SIDE ? least : LONGEST_SIDE);
}

/* Parts as large as they may be, so that little is packed again, halved while they are few, but
   never below what is worth a hand-over. */
static void choose_parts(product *p)
{
    int64_t columns = long_side(p->n, smaller(p->m, LONGEST_SIDE) * p->k);
    int64_t rows = long_side(p->m, columns * p->k);
    while (count(p->m, rows) * count(p->n, columns) < ENOUGH_PARTS &&
           rows * columns >= 2 * LEAST_WORK / p->k &&
           (rows > SHORTEST_SIDE || columns > SHORTEST_SIDE)) {
        if (rows > columns) {
            rows = even_side(rows, (rows + 1) / 2, ROW_STEP);
        } else {
            columns = even_side(columns, (columns + 1) / 2, COLUMN_STEP);
        }
    }
    p->part_rows = even_side(p->m, rows, ROW_STEP);
    p->part_columns = even_side(p->n, columns, COLUMN_STEP);
    p->parts_across = count(p->n, p->part_columns);
}

static pthread_key_t scratch_key;

/* Room for packed blocks, which each thread keeps until its end. */
static void *scratch(void)
{
    void *room = pthread_getspecific(scratch_key);
    if (!room && !posix_memalign(&room, 64, SCRATCH_BYTES)) {
        pthread_setspecific(scratch_key, room);
    }
    return room;
}

/* -- the choice --------------------------------------------------------------------------------

   Measured beside OpenBLAS 0.3.31 on Zen 4, which has kernels of its own for small products, better
   ones but for a plain left and a transposed right matrix, and good ones for those of little depth. */

enum { LEAST_ROWS = 8, LEAST_COLUMNS = 16, NARROW_WORK = 1 << 19 };
enum { LEAST_SIDE = 32, TURNED_WORK = 1 << 16 }; /* where only the right one is transposed */
enum { LARGE_WORK = 1000000, SHALLOW = 64, SHALLOW_WORK = 8 * LARGE_WORK, FLAT = 16 };

static int is_fast_in_tiles(const product *p)
{
    const int64_t work = p->m * p->n * p->k;
    if (p->m < LEAST_ROWS || p->n < LEAST_COLUMNS) {
        return 0;
    }
    if (p->tb && !p->ta) {
        return work >= NARROW_WORK ||
               (p->m >= LEAST_SIDE && p->n >= LEAST_SIDE && work >= TURNED_WORK);
    }
    return p->k > FLAT && work >= (p->k > SHALLOW ? LARGE_WORK : SHALLOW_WORK);
}

static int chooses_blas(const product *p)
{
    if (!p->runtime->BLAS_GEMM || !fits_blas(p)) {
        return 0;
    }
    return p->runtime->blas_always || !is_fast_in_tiles(p);
}

/* -- products on one thread -------------------------------------------------------------------- */

/* By the definition: where there is no memory, or nothing to add up. */
static void multiply_plainly(const product *p, const number *a, const number *b, number *c,
                             const number *d, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = d ? d[i * p->ldd + j] : 0;
            for (int64_t l = 0; l < p->k; l++) {
                sum += (double)a[p->ta ? l * p->lda + i : i * p->lda + l] *
                       (double)b[p->tb ? j * p->ldb + l : l * p->ldb + j];
            }
            c[i * p->ldc + j] = (number)sum;
        }
    }
}

static operand left_of(const product *p, const number *a)
{
    return (operand){a, p->ta ? 1 : p->lda, p->ta ? p->lda : 1};
}

static operand right_of(const product *p, const number *b)
{
    return (operand){b, p->tb ? p->ldb : 1, p->tb ? 1 : p->ldb};
}

static void multiply_in_tiles(const product *p, const number *a, const number *b, number *c,
                              const number *d, int64_t m, int64_t n)
{
    number *const room = scratch();
    if (room) {
        multiply_blocks(m, n, p->k, left_of(p, a), right_of(p, b), c, p->ldc,
                        (operand){d, p->ldd, 1}, room);
    } else {
        multiply_plainly(p, a, b, c, d, m, n);
    }
}

/* -- products whose right panels all threads share --------------------------------------------- */

enum { ROUND_COLUMNS = 2048, SHARE_COLUMNS = 64 }; /* packed for all threads, and by one of them */
enum { ROUND_BYTES = ROUND_COLUMNS * DEPTH_BYTES };

/* Some columns, for some of the depth: b is packed as a whole before anything is multiplied. */
typedef struct {
    operand a, b, more;
    int64_t rows, columns, depth;
    number *packed, *c;
    int64_t c_row, part_rows, part_columns, parts_across;
} shared_round;

static void pack_share(void *context, int64_t index)
{
    const shared_round *r = context;
    const int64_t column = index * SHARE_COLUMNS;
    pack_columns(r->packed + column * r->depth, lines_from(r->b, column), 0,
                 smaller(r->columns - column, SHARE_COLUMNS), r->depth);
}

static void multiply_share(void *context, int64_t index)
{
    const shared_round *r = context;
    const int64_t column = index % r->parts_across * r->part_columns;
    const int64_t columns = smaller(r->columns - column, r->part_columns);
    const int64_t begin = index / r->parts_across * r->part_rows;
    const int64_t end = smaller(begin + r->part_rows, r->rows);
    number few[TILE_ROWS * BLOCK_DEPTH], *const many = scratch();
    number *const packed = many ? many : few;
    const int64_t step = many ? BLOCK_ROWS : TILE_ROWS;
    for (int64_t row = begin; row < end; row += step) {
        const int64_t rows = smaller(end - row, step);
        pack_rows(packed, lines_from(r->a, row), 0, rows, r->depth);
        multiply_block(rows, columns, r->depth, r->a, 0, packed, r->b, 0,
                       r->packed + column * r->depth, r->c + row * r->c_row + column, r->c_row,
                       part_of(r->more, row, column));
    }
}

/* c = more + a b on all threads, with room for ROUND_BYTES in `room`. */
static void multiply_rounds(const product *p, number *room)
{
    const operand a = left_of(p, p->a), b = right_of(p, p->b), more = {p->d, p->ldd, 1};
    const int64_t blocks = (p->k + BLOCK_DEPTH - 1) / BLOCK_DEPTH;
    for (int64_t j = 0; j < p->n; j += ROUND_COLUMNS) {
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t step = p->k * block / blocks;
            const operand added = block ? (operand){p->c, p->ldc, 1} : more;
            shared_round r = {
                .a = {a.at + step * a.step, a.line, a.step},
                .b = {b.at + j * b.line + step * b.step, b.line, b.step},
                .more = part_of(added, 0, j),
                .rows = p->m,
                .columns = smaller(p->n - j, ROUND_COLUMNS),
                .depth = p->k * (block + 1) / blocks - step,
                .packed = room,
                .c = p->c + j,
                .c_row = p->ldc,
                .part_rows = p->part_rows,
                .part_columns = p->part_columns,
                .parts_across = count(smaller(p->n - j, ROUND_COLUMNS), p->part_columns),
            };
            p->runtime->parallel(p->runtime, count(r.columns, SHARE_COLUMNS), pack_share, &r);
            p->runtime->parallel(p->runtime, count(r.rows, r.part_rows) * r.parts_across,
                                 multiply_share, &r);
        }
    }
}

/* -- products on all threads ------------------------------------------------------------------- */

static void multiply_part(void *context, int64_t index)
{
    const product *p = context;
    const int64_t row = index / p->parts_across * p->part_rows;
    const int64_t column = index % p->parts_across * p->part_columns;
    const int64_t m = smaller(p->part_rows, p->m - row);
    const int64_t n = smaller(p->part_columns, p->n - column);
    const number *const a = p->a + (p->ta ? row : row * p->lda);
    const number *const b = p->b + (p->tb ? column * p->ldb : column);
    const number *const d = p->d ? p->d + row * p->ldd + column : NULL;
    number *const c = p->c + row * p->ldc + column;
    if (p->blas) {
        for (int64_t i = 0; i < m && d; ++i) {
            memcpy(c + i * p->ldc, d + i * p->ldd, n * sizeof(number));
        }
        call_blas(p, a, b, c, m, n);
    } else {
        multiply_in_tiles(p, a, b, c, d, m, n);
    }
}

/* Parts that are as wide as may be, since each packs its own rows, and some for each thread. */
static void choose_bands(product *p)
{
    const int64_t threads = __atomic_load_n(&p->runtime->threads, __ATOMIC_RELAXED);
    const int64_t wanted = 4 * threads > ENOUGH_PARTS ? 4 * threads : ENOUGH_PARTS;
    const int64_t columns = smaller(p->n, ROUND_COLUMNS);
    int64_t rows = count(p->m, wanted);
    rows = rows < SHORTEST_SIDE ? SHORTEST_SIDE : smaller(rows, BLOCK_ROWS);
    p->part_rows = even_side(p->m, rows, TILE_ROWS);
    int64_t across = count(wanted, count(p->m, p->part_rows));
    across = smaller(across, count(columns, 2 * SHORTEST_SIDE));
    p->part_columns = count(count(columns, across), COLUMN_STEP) * COLUMN_STEP;
}

static struct {
    _Atomic int taken;
    void *room; /* for ROUND_BYTES, kept from the first large product on */
} shared;

static void forget_shared(void)
{
    atomic_store(&shared.taken, 0);
}

/* From which on that pays, as measured. */
enum { SHARED_ROWS = 384, SHARED_SIZE = 1 << 18, SHARED_WORK = 3 << 26 };

/* Packs what several parts need once for all of them. Gives 0, and has done nothing, where it does
   not pay, or where the room is taken: by another thread, or by what this one is a part of. */
static int multiply_together(product *p)
{
    if (p->m < SHARED_ROWS || p->n <= FEW_COLUMNS || p->m * p->n < SHARED_SIZE ||
        p->m * p->n * p->k < SHARED_WORK || atomic_exchange(&shared.taken, 1)) {
        return 0;
    }
    choose_bands(p);
    const int has_room = shared.room || !posix_memalign(&shared.room, 64, ROUND_BYTES);
    if (has_room) {
        multiply_rounds(p, shared.room);
    }
    atomic_store(&shared.taken, 0);
    return has_room;
}

static void multiply(product p)
{
    if (p.m <= 0 || p.n <= 0) {
        return;
    }
    p.lda = p.ta ? leading(p.k, p.m, p.lda) : leading(p.m, p.k, p.lda);
    p.ldb = p.tb ? leading(p.n, p.k, p.ldb) : leading(p.k, p.n, p.ldb);
    p.ldc = leading(p.m, p.n, p.ldc);
    if (p.k <= 0) {
        multiply_plainly(&p, p.a, p.b, p.c, p.d, p.m, p.n);
        return;
    }
    p.blas = chooses_blas(&p);
    if (!p.blas && multiply_together(&p)) {
        return;
    }
    choose_parts(&p);
    const int64_t parts = count(p.m, p.part_rows) * p.parts_across;
    if (p.blas) {
        p.runtime->enter_blas(p.runtime);
    }
    p.runtime->parallel(p.runtime, parts, multiply_part, &p);
    if (p.blas) {
        p.runtime->leave_blas(p.runtime);
    }
}

static void gemm(const gradc_runtime *runtime, int ta, int tb, int64_t m, int64_t n, int64_t k,
                 const number *a, int64_t lda, const number *b, int64_t ldb, number *c, int64_t ldc,
                 const number *d, int64_t ldd)
{
    multiply((product){.runtime = runtime, .ta = ta, .tb = tb, .m = m, .n = n, .k = k, .a = a,
                       .lda = lda, .b = b, .ldb = ldb, .c = c, .ldc = ldc, .d = d, .ldd = ldd});
}

#endif
