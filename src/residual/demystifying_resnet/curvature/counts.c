/* Inertia of H - t I of a chain of linear layers, by elimination layer by layer with delayed pivots.
 *
 * docs/curvature.md derives it; the numbers of equations are those of that page. The reference implementation is plain.py.
 * Matrices are column-major with a leading dimension of their own; of symmetric ones the lower triangle counts.
 * Plain C with the vector types of GCC and Clang. counts_lanes.h is compiled once for every width of vectors that the
 * processor may have; the widest that it has is chosen when called.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define PANEL 24 /* pivots whose effect on the columns behind them is applied at once */
#define MARGIN 32 /* rows and columns of padding that a tile may touch */

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
#define INLINED static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 32")

typedef struct {
    int32_t depth;
    int32_t width;
    int32_t unit_depth;
    int32_t has_shortcuts;
    const double *weights; /* depth x width x width, row-major, as the next two */
    const double *before;  /* B_l, from the network's input to layer l's input */
    const double *slopes;  /* Lambda_l, the loss's derivative by layer l's output map */
    const double *second;  /* S_XX, width x width */
    double threshold;      /* least pivot, as a share of what it is coupled to */
    int32_t most_delayed;  /* pivots that may be put off at once */
    int32_t shifts;
    const double *shift;       /* t */
    int64_t *negative;         /* of each t: eigenvalues below it; -1 if too many pivots had to be put off */
    int64_t *delayed;          /* most pivots that were put off at once */
    double *log_determinant;   /* log |det(H - t I)| */
    double *largest;           /* absolute entry met on the way */
    double *memory;            /* resaudit_count_memory doubles, finite; what they hold is used up */
} Work;

typedef struct {
    double *front, *mixed, *turned; /* (capacity x capacity): the front, and two steps towards the next */
    double *left, *right;           /* (capacity x PANEL): L and L D of the pivots not yet applied */
    double *column, *other;         /* capacity */
    int capacity;
} Space;

typedef struct {
    int64_t negative, delayed;
    double log_determinant, largest;
} Tally;

INLINED int leading(int n) {
    int ld = (n + 7) / 8 * 8 + MARGIN;
    return ld % 64 ? ld : ld + 8;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MANY_WIDTHS 1
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx2,fma")
#define LANES 8
#include "counts_lanes.h"
#undef LANES
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 4
#include "counts_lanes.h"
#undef LANES
#pragma GCC pop_options
#endif
#define LANES 2
#include "counts_lanes.h"
#undef LANES

/* Doubles in a vector of the widest kind that this processor has. */
int resaudit_lanes(void) {
#ifdef MANY_WIDTHS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return 8;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 4;
#endif
    return 2;
}

static int capacity_of(int width, int most_delayed) {
    return leading(most_delayed + 3 * width * width) + MARGIN;
}

/* Doubles of working memory that a count needs. */
int64_t resaudit_count_memory(int width, int most_delayed) {
    int64_t capacity = capacity_of(width, most_delayed);
    return 3 * capacity * capacity + (2 * PANEL + 2) * capacity;
}

static Space divided(double *memory, int capacity) {
    Space space;
    size_t square = (size_t)capacity * capacity, panel = (size_t)capacity * PANEL;
    space.capacity = capacity;
    space.left = memory;
    space.right = space.left + panel;
    space.column = space.right + panel;
    space.other = space.column + capacity;
    space.front = space.other + capacity;
    space.mixed = space.front + square;
    space.turned = space.mixed + square;
    return space;
}

/* Of which source this was compiled; see resaudit/runtime/extensions.py. */
const char *resaudit_source(void) { return RESAUDIT_SOURCE; }

/* Counts at every shift. */
void resaudit_count(const Work *work, int lanes) {
    Space space = divided(work->memory, capacity_of(work->width, work->most_delayed));
    for (int i = 0; i < work->shifts; i++) {
        Tally tally = {0, 0, 0.0, 0.0};
        int failed;
        switch (lanes) {
#ifdef MANY_WIDTHS
            case 8: failed = count_8(work, &space, work->shift[i], &tally); break;
            case 4: failed = count_4(work, &space, work->shift[i], &tally); break;
#endif
            default: failed = count_2(work, &space, work->shift[i], &tally);
        }
        work->negative[i] = failed ? -1 : tally.negative;
        work->delayed[i] = tally.delayed;
        work->log_determinant[i] = failed ? NAN : tally.log_determinant;
        work->largest[i] = tally.largest;
    }
}
