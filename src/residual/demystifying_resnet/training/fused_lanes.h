/* The kernel for vectors of LANES floats on a processor of REGISTERS vector registers. Included by fused.c only. */

#define VECTORS (BLOCK / LANES)
#define vec NAMED(vec_, LANES)
#define ivec NAMED(ivec_, LANES)
#define state NAMED(state_, LANES)
#define product NAMED(product_, LANES)
#define product_plain NAMED(product_plain_, LANES)
#define product_of_relu NAMED(product_of_relu_, LANES)
#define outer NAMED(outer_, LANES)
#define outer_plain NAMED(outer_plain_, LANES)
#define outer_of_relu NAMED(outer_of_relu_, LANES)
#define mask NAMED(mask_, LANES)
#define forward NAMED(forward_, LANES)
#define residual NAMED(residual_, LANES)
#define backward NAMED(backward_, LANES)
#define sum_up NAMED(sum_up_, LANES)
#define Memory NAMED(Memory_, LANES)
#define item NAMED(item_, LANES)

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));
typedef vec state[WIDTH][VECTORS]; /* WIDTH features of a block of samples */

/* z where by > 0, else 0 */
#define MASKED(z, by) ((vec)((ivec)(z) & ((by) > 0)))
/* z where z > 0, else 0; what is not a number stays so, or a run that has diverged would seem to have a loss. */
#define RELU(z) ((vec)((ivec)(z) & ~((z) <= 0)))

/* As many vectors side by side, and as large a tile of an outer product, as the registers hold. */
#if REGISTERS >= 32
#define ABREAST 2
#define TILE 5
#else
#define ABREAST 1
#define TILE 2
#endif

typedef struct {
    float *transposed; /* depth x WIDTH x WIDTH */
    state *states;     /* depth + 1: what enters each layer, and what leaves the last */
    state *kept;       /* depth: a ReLU's output where a shortcut is added to it at once */
    vec *sums;         /* depth x WIDTH x WIDTH: gradients, lane by lane */
    state gradients[3];
} Memory;

/* out = W in, W given by columns; then ReLU, then + added, as wanted. */
INLINED void product(const float *columns, const state in, state out, int relu_in, int relu_out, vec (*kept)[VECTORS],
                     const vec (*added)[VECTORS])
{
    for (int v = 0; v < VECTORS; v += ABREAST) {
        vec sum[WIDTH][ABREAST];
        UNROLLED for (int i = 0; i < WIDTH; i++)
            UNROLLED for (int a = 0; a < ABREAST; a++) sum[i][a] = (vec){0};
        UNROLLED for (int j = 0; j < WIDTH; j++) {
            vec x[ABREAST];
            UNROLLED for (int a = 0; a < ABREAST; a++) x[a] = relu_in ? RELU(in[j][v + a]) : in[j][v + a];
            UNROLLED for (int i = 0; i < WIDTH; i++)
                UNROLLED for (int a = 0; a < ABREAST; a++) sum[i][a] += columns[j * WIDTH + i] * x[a];
        }
        UNROLLED for (int i = 0; i < WIDTH; i++)
            UNROLLED for (int a = 0; a < ABREAST; a++) {
                vec z = sum[i][a];
                if (relu_out) z = RELU(z);
                if (kept) kept[i][v + a] = z;
                if (added) z += added[i][v + a];
                out[i][v + a] = z;
            }
    }
}

static void product_plain(const float *columns, const state in, state out, int relu_out, vec (*kept)[VECTORS],
                          const vec (*added)[VECTORS])
{
    product(columns, in, out, 0, relu_out, kept, added);
}

static void product_of_relu(const float *columns, const state in, state out, int relu_out, vec (*kept)[VECTORS],
                            const vec (*added)[VECTORS])
{
    product(columns, in, out, 1, relu_out, kept, added);
}

/* sums += left right^T, lane by lane */
INLINED void outer(const state left, const state right, vec *sums, int relu_right)
{
    for (int i0 = 0; i0 < WIDTH; i0 += TILE)
        for (int j0 = 0; j0 < WIDTH; j0 += 5) {
            vec sum[TILE][5];
            UNROLLED for (int i = 0; i < TILE; i++)
                UNROLLED for (int j = 0; j < 5; j++) sum[i][j] = sums[(i0 + i) * WIDTH + j0 + j];
            for (int v = 0; v < VECTORS; v++) {
                vec x[5];
                UNROLLED for (int j = 0; j < 5; j++)
                    x[j] = relu_right ? RELU(right[j0 + j][v]) : right[j0 + j][v];
                UNROLLED for (int i = 0; i < TILE; i++) {
                    vec y = left[i0 + i][v];
                    UNROLLED for (int j = 0; j < 5; j++) sum[i][j] += y * x[j];
                }
            }
            UNROLLED for (int i = 0; i < TILE; i++)
                UNROLLED for (int j = 0; j < 5; j++) sums[(i0 + i) * WIDTH + j0 + j] = sum[i][j];
        }
}

static void outer_plain(const state left, const state right, vec *sums) { outer(left, right, sums, 0); }
static void outer_of_relu(const state left, const state right, vec *sums) { outer(left, right, sums, 1); }

/* out = in where by > 0, else 0; in and out may be the same */
static void mask(const state in, const state by, state out)
{
    for (int i = 0; i < WIDTH; i++)
        for (int v = 0; v < VECTORS; v++) out[i][v] = MASKED(in[i][v], by[i][v]);
}

static void forward(const Work *work, const Memory *m)
{
    int entry = 0;
    for (int layer = 0; layer < work->depth; layer++) {
        int step = work->steps[layer], relu = step & RELU_AFTER, leaves = step & LEAVES_UNIT;
        if (step & ENTERS_UNIT) entry = layer;
        (step & RELU_BEFORE ? product_of_relu : product_plain)(
            m->transposed + (size_t)layer * WIDTH * WIDTH, m->states[layer], m->states[layer + 1], relu,
            relu && leaves ? m->kept[layer] : NULL, leaves ? m->states[entry] : NULL);
    }
}

/* The derivative of |y - f(x)|^2 / 2 by f(x); returns the sum of these losses. */
static double residual(const state output, const state targets, state difference)
{
    vec squares = {0};
    double loss = 0;
    for (int i = 0; i < WIDTH; i++)
        for (int v = 0; v < VECTORS; v++) {
            vec e = output[i][v] - targets[i][v];
            squares += e * e;
            difference[i][v] = e;
        }
    for (int lane = 0; lane < LANES; lane++) loss += squares[lane];
    return loss / 2;
}

/* From the derivative by the output, in m->gradients[0], to those by the weights, added to m->sums. */
static void backward(const Work *work, const float *weights, Memory *m)
{
    vec(*after)[VECTORS] = m->gradients[0], (*before)[VECTORS] = m->gradients[1], (*skipped)[VECTORS] = m->gradients[2];
    for (int layer = work->depth - 1; layer >= 0; layer--) {
        int step = work->steps[layer];
        const vec(*input)[VECTORS] = m->states[layer];
        if (step & LEAVES_UNIT) memcpy(skipped, after, sizeof(state));
        if (step & RELU_AFTER) mask(after, step & LEAVES_UNIT ? m->kept[layer] : m->states[layer + 1], after);
        (step & RELU_BEFORE ? outer_of_relu : outer_plain)(after, input, m->sums + (size_t)layer * WIDTH * WIDTH);
        if (!layer) break;
        int adds_at_once = step & ENTERS_UNIT && !(step & RELU_BEFORE);
        product_plain(weights + (size_t)layer * WIDTH * WIDTH, after, before, 0, NULL, adds_at_once ? skipped : NULL);
        if (step & RELU_BEFORE) {
            mask(before, input, before);
            if (step & ENTERS_UNIT)
                for (int i = 0; i < WIDTH; i++)
                    for (int v = 0; v < VECTORS; v++) before[i][v] += skipped[i][v];
        }
        vec(*spare)[VECTORS] = after;
        after = before;
        before = spare;
    }
}

/* Add what the lanes hold to a gradient in double precision, and clear them. */
static void sum_up(vec *sums, double *gradient, size_t entries)
{
    for (size_t k = 0; k < entries; k++) {
        double sum = 0;
        for (int lane = 0; lane < LANES; lane++) sum += sums[k][lane];
        gradient[k] += sum;
    }
    memset(sums, 0, entries * sizeof(vec));
}

static void item(const Work *work, int64_t number, Memory *m)
{
    size_t entries = (size_t)work->depth * WIDTH * WIDTH;
    int64_t run = number / work->parts, part = number % work->parts;
    int64_t first = work->blocks * part / work->parts, last = work->blocks * (part + 1) / work->parts;
    const float *weights = work->weights + run * entries;
    double *gradient = work->gradients + number * entries, loss = 0;

    for (int layer = 0; layer < work->depth; layer++)
        for (int i = 0; i < WIDTH; i++)
            for (int j = 0; j < WIDTH; j++)
                m->transposed[(layer * WIDTH + j) * WIDTH + i] = weights[(layer * WIDTH + i) * WIDTH + j];
    memset(gradient, 0, entries * sizeof(double));
    memset(m->sums, 0, entries * sizeof(vec));
    for (int64_t block = first; block < last; block++) {
        memcpy(m->states[0], work->inputs + block * WIDTH * BLOCK, sizeof(state));
        memcpy(m->gradients[2], work->targets + block * WIDTH * BLOCK, sizeof(state));
        forward(work, m);
        loss += residual(m->states[work->depth], m->gradients[2], m->gradients[0]);
        backward(work, weights, m);
        if ((block - first) % BLOCKS_PER_SUM == BLOCKS_PER_SUM - 1 || block == last - 1) sum_up(m->sums, gradient, entries);
    }
    work->losses[number] = loss;
}

static int NAMED(work_, LANES)(const Work *work, int64_t first, int64_t last)
{
    size_t depth = work->depth, entries = depth * WIDTH * WIDTH;
    /* Everything but the weights is a whole number of vectors long, so all stays aligned. */
    size_t bytes = sizeof(Memory) + (2 * depth + 1) * sizeof(state) + entries * (sizeof(vec) + sizeof(float));
    char *all = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!all) return -1;
    Memory *m = (Memory *)all;
    m->states = (state *)(all + (sizeof(Memory) + 63) / 64 * 64);
    m->kept = m->states + depth + 1;
    m->sums = (vec *)(m->kept + depth);
    m->transposed = (float *)(m->sums + entries);
    for (int64_t number = first; number < last; number++) item(work, number, m);
    free(all);
    return 0;
}

static double NAMED(peak_, LANES)(int64_t rounds)
{
    vec factor = {0}, term = {0}, sum[12];
    factor += 0.999f;
    term += 0.001f;
    UNROLLED for (int k = 0; k < 12; k++) sum[k] = term + (float)k;
    for (int64_t round = 0; round < rounds; round++) {
        UNROLLED for (int k = 0; k < 12; k++) sum[k] = sum[k] * factor + term;
    }
    vec all = {0};
    UNROLLED for (int k = 0; k < 12; k++) all += sum[k];
    double used = 0;
    for (int lane = 0; lane < LANES; lane++) used += all[lane];
    /* What was computed is looked at, so that it cannot be left out; it is never NaN. */
    return used == used ? 24.0 * LANES * rounds : 0;
}

#undef VECTORS
#undef vec
#undef ivec
#undef state
#undef product
#undef product_plain
#undef product_of_relu
#undef outer
#undef outer_plain
#undef outer_of_relu
#undef mask
#undef forward
#undef residual
#undef backward
#undef sum_up
#undef Memory
#undef item
#undef RELU
#undef MASKED
#undef ABREAST
#undef TILE
