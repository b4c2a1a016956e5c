/* Loss and gradient of networks of WIDTH x WIDTH layers with ReLUs, over many samples, in one pass.
 *
 * A block of samples goes forward through all layers and back while it stays in the first two levels of cache; eager
 * code would move every activation of every sample through memory. One sample is one lane of a vector, so a layer is
 * WIDTH^2 multiplications of a vector by a weight, and a gradient's entry a vector that is summed over its lanes now
 * and then, in double precision.
 *
 * Plain C with the vector types of GCC and Clang. fused_lanes.h is compiled once for every width of vectors that the
 * processor may have; the widest that it has is chosen when called.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 10
#define BLOCK 256 /* samples; a multiple of twice the widest vector */
#define BLOCKS_PER_SUM 4 /* blocks whose gradients are summed in single precision before they are in double */

/* What surrounds a layer's product, as bits: see NativeObjective in native.py. */
enum { RELU_BEFORE = 1, RELU_AFTER = 2, ENTERS_UNIT = 4, LEAVES_UNIT = 8 };

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
#define UNROLLED _Pragma("GCC unroll 16")
#define INLINED static inline __attribute__((always_inline))

typedef struct {
    int32_t depth;
    const uint8_t *steps;  /* of each layer */
    const float *inputs;   /* blocks x WIDTH x BLOCK, zero where the last block has no sample */
    const float *targets;  /* the same */
    int64_t blocks;
    int64_t parts;         /* that the blocks are divided into, each summed by itself */
    const float *weights;  /* runs x depth x WIDTH x WIDTH, row-major */
    double *losses;        /* runs x parts: sums of |y - f(x)|^2 / 2 */
    double *gradients;     /* runs x parts x depth x WIDTH x WIDTH: of these sums */
} Work;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MANY_WIDTHS 1
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#define LANES 16
#define REGISTERS 32
#include "fused_lanes.h"
#undef LANES
#undef REGISTERS
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANES 8
#define REGISTERS 16
#include "fused_lanes.h"
#undef LANES
#undef REGISTERS
#pragma GCC pop_options
#endif
#define LANES 4
#define REGISTERS 16
#include "fused_lanes.h"

#define EXPORTED __attribute__((visibility("default")))

/* Lanes of the widest vectors that this processor and this build have. */
EXPORTED int resaudit_lanes(void)
{
#ifdef MANY_WIDTHS
    if (__builtin_cpu_supports("avx512f")) return 16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
    return 4;
}

/* Of which source this was compiled; see resaudit/runtime/extensions.py. */
EXPORTED const char *resaudit_source(void) { return RESAUDIT_SOURCE; }

EXPORTED int resaudit_block(void) { return BLOCK; }

/* Items first, first + 1, ... last - 1 of runs x parts. Returns 0, or -1 where memory or that width of vectors is not
 * to be had. Needs no lock: items write to places of their own. */
EXPORTED int resaudit_loss_and_gradient(const Work *work, int64_t first, int64_t last, int lanes)
{
#ifdef MANY_WIDTHS
    if (lanes == 16) return work_16(work, first, last);
    if (lanes == 8) return work_8(work, first, last);
#endif
    return lanes == 4 ? work_4(work, first, last) : -1;
}

/* A loop of nothing but independent multiplications and additions in registers: what the processor can do at most.
 * Returns the operations it has done. */
EXPORTED double resaudit_peak(int64_t rounds, int lanes)
{
#ifdef MANY_WIDTHS
    if (lanes == 16) return peak_16(rounds);
    if (lanes == 8) return peak_8(rounds);
#endif
    return peak_4(rounds);
}
