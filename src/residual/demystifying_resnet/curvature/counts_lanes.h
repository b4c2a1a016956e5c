/* The elimination for vectors of LANES doubles; see counts.c. */

#define F(name) NAMED(name##_, LANES)
#define V F(Vector)
#define TILE_ROWS 3    /* vectors of a tile of the update */
#define TILE_COLUMNS 8 /* its columns */

typedef double V __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* A[i, j] -= sum_p left[i, p] right[j, p] for a tile of rows vectors and TILE_COLUMNS columns. */
INLINED void F(tile)(int rows, double *a, int ld, const double *left, const double *right, int stride, int pivots) {
    V sum[TILE_COLUMNS][TILE_ROWS];
    UNROLLED for (int j = 0; j < TILE_COLUMNS; j++)
        UNROLLED for (int i = 0; i < rows; i++) sum[j][i] = *(const V *)(a + (size_t)j * ld + i * LANES);
    for (int p = 0; p < pivots; p++) {
        const double *l = left + (size_t)p * stride, *r = right + (size_t)p * stride;
        V factor[TILE_ROWS];
        UNROLLED for (int i = 0; i < rows; i++) factor[i] = *(const V *)(l + i * LANES);
        UNROLLED for (int j = 0; j < TILE_COLUMNS; j++)
            UNROLLED for (int i = 0; i < rows; i++) sum[j][i] -= factor[i] * r[j];
    }
    UNROLLED for (int j = 0; j < TILE_COLUMNS; j++)
        UNROLLED for (int i = 0; i < rows; i++) *(V *)(a + (size_t)j * ld + i * LANES) = sum[j][i];
}

/* Applies the pivots of a panel to the lower triangle of rows and columns from .. n - 1. */
static void F(apply)(const Space *space, double *a, int ld, int from, int n, int pivots) {
    int stride = space->capacity;
    for (int j = from; j < n; j += TILE_COLUMNS) {
        const double *right = space->right + j;
        int i = j;
        for (; i + TILE_ROWS * LANES <= n; i += TILE_ROWS * LANES)
            F(tile)(TILE_ROWS, a + i + (size_t)j * ld, ld, space->left + i, right, stride, pivots);
        for (; i < n; i += LANES) F(tile)(1, a + i + (size_t)j * ld, ld, space->left + i, right, stride, pivots);
    }
}

/* column[i] = A[i, j] for i >= from, with the panel's pivots applied. */
static void F(fetch)(const Space *space, const double *a, int ld, int from, int j, int n, int pivots, double *column) {
    int stride = space->capacity;
    for (int i = from; i < j; i++) column[i] = a[j + (size_t)i * ld];
    for (int i = j; i < n; i++) column[i] = a[i + (size_t)j * ld];
    for (int i = from; i < n; i += 4 * LANES) {
        V sum[4];
        UNROLLED for (int v = 0; v < 4; v++) sum[v] = *(const V *)(column + i + v * LANES);
        for (int p = 0; p < pivots; p++) {
            const double *l = space->left + (size_t)p * stride + i;
            double factor = space->right[(size_t)p * stride + j];
            UNROLLED for (int v = 0; v < 4; v++) sum[v] -= *(const V *)(l + v * LANES) * factor;
        }
        UNROLLED for (int v = 0; v < 4; v++) *(V *)(column + i + v * LANES) = sum[v];
    }
}

/* Largest |column[i]| for from <= i < to. */
static double F(largest)(const double *column, int from, int to) {
    double most[LANES] = {0.0}, all = 0.0;
    int i = from;
    for (; i + LANES <= to; i += LANES)
        for (int v = 0; v < LANES; v++) {
            double size = fabs(column[i + v]);
            most[v] = size > most[v] ? size : most[v];
        }
    for (int v = 0; v < LANES; v++) all = most[v] > all ? most[v] : all;
    for (; i < to; i++) all = fabs(column[i]) > all ? fabs(column[i]) : all;
    return all;
}

/* Exchanges rows and columns i < j of the lower triangle from column live on, and of the panel. */
static void F(exchange)(Space *space, double *a, int ld, int live, int i, int j, int n, int pivots) {
    if (i == j) return;
#define SWAP(x, y) do { double kept = (x); (x) = (y); (y) = kept; } while (0)
    for (int k = live; k < i; k++) SWAP(a[i + (size_t)k * ld], a[j + (size_t)k * ld]);
    for (int k = j + 1; k < n; k++) SWAP(a[k + (size_t)i * ld], a[k + (size_t)j * ld]);
    for (int k = i + 1; k < j; k++) SWAP(a[k + (size_t)i * ld], a[j + (size_t)k * ld]);
    SWAP(a[i + (size_t)i * ld], a[j + (size_t)j * ld]);
    for (int p = 0; p < pivots; p++) {
        size_t row = (size_t)p * space->capacity;
        SWAP(space->left[row + i], space->left[row + j]);
        SWAP(space->right[row + i], space->right[row + j]);
    }
}

/* Takes column[q] as a pivot; the rest of the column becomes one of the panel. */
static void F(take_one)(Space *space, int q, int n, int pivots, Tally *tally) {
    double pivot = space->column[q];
    double *left = space->left + (size_t)pivots * space->capacity;
    double *right = space->right + (size_t)pivots * space->capacity;
    double inverse = 1.0 / pivot;
    for (int i = q + 1; i < n; i++) {
        right[i] = space->column[i];
        left[i] = space->column[i] * inverse;
    }
    tally->negative += pivot < 0;
    tally->log_determinant += log(fabs(pivot));
}

/* Takes a zero that is coupled to nothing: neither below nor above. */
static void F(take_zero)(Space *space, int q, int n, int pivots, Tally *tally) {
    memset(space->left + (size_t)pivots * space->capacity + q, 0, (n - q) * sizeof(double));
    memset(space->right + (size_t)pivots * space->capacity + q, 0, (n - q) * sizeof(double));
    tally->log_determinant = -INFINITY;
}

/* Takes rows and columns q and q + 1 as a pivot of two. */
static void F(take_two)(Space *space, int q, int n, int pivots, Tally *tally) {
    const double *x = space->column, *y = space->other;
    double d = x[q], b = x[q + 1], e = y[q + 1], determinant = d * e - b * b;
    double *left = space->left + (size_t)pivots * space->capacity;
    double *right = space->right + (size_t)pivots * space->capacity;
    int next = space->capacity;
    for (int i = q + 2; i < n; i++) {
        right[i] = x[i];
        right[next + i] = y[i];
        left[i] = (e * x[i] - b * y[i]) / determinant;
        left[next + i] = (d * y[i] - b * x[i]) / determinant;
    }
    left[q + 1] = right[q + 1] = 0.0;
    tally->negative += determinant < 0 ? 1 : (d < 0 ? 2 : 0);
    tally->log_determinant += log(fabs(determinant));
}

/* Eliminates as many of the first p of n variables as have pivots of at least the threshold.
 *
 * Returns how many; the others stand next, before the boundary p .. n - 1, and nothing of a[q.., q..] is pending.
 */
static int F(eliminate)(Space *space, double *a, int ld, int n, int p, double threshold, Tally *tally) {
    int q = 0, end = p, pivots = 0, taken = 0;
    double *x = space->column, *y = space->other;
    while (1) {
        if (pivots + 2 > PANEL || q >= end) {
            F(apply)(space, a, ld, q, n, pivots);
            pivots = 0;
        }
        if (q >= end) {
            if (q == p || !taken) return q;
            end = p;
            taken = 0;
        }
        F(fetch)(space, a, ld, q, q, n, pivots, x);
        double diagonal = fabs(x[q]), coupled = F(largest)(x, q + 1, n);
        tally->largest = fmax(tally->largest, fmax(diagonal, coupled));
        if (diagonal == 0.0 && coupled == 0.0) {
            F(take_zero)(space, q++, n, pivots++, tally);
            taken++;
            continue;
        }
        if (diagonal > 0.0 && diagonal >= threshold * coupled) {
            F(take_one)(space, q++, n, pivots++, tally);
            taken++;
            continue;
        }
        int r = q + 1 < p ? q + 1 : -1;
        for (int i = q + 2; i < p; i++) r = fabs(x[i]) > fabs(x[r]) ? i : r;
        if (r >= 0 && x[r] != 0.0) {
            F(fetch)(space, a, ld, q, r, n, pivots, y);
            double b = x[r], e = y[r], determinant = x[q] * e - b * b;
            double kept_y = y[q];
            y[r] = 0.0;
            double coupled_y = F(largest)(y, q, n);
            y[r] = e;
            if (fabs(e) >= threshold * coupled_y) {
                F(exchange)(space, a, ld, q, q, r, n, pivots);
                F(fetch)(space, a, ld, q, q, n, pivots, x);
                F(take_one)(space, q++, n, pivots++, tally);
                taken++;
                continue;
            }
            x[r] = 0.0, y[r] = 0.0, y[q] = 0.0;
            double rest_x = F(largest)(x, q + 1, n), rest_y = F(largest)(y, q + 1, n);
            x[r] = b, y[q] = kept_y, y[r] = e;
            double bound = fabs(determinant) / threshold; /* eq. 9 */
            if (determinant != 0.0 && fabs(e) * rest_x + fabs(b) * rest_y <= bound &&
                fabs(b) * rest_x + fabs(x[q]) * rest_y <= bound) {
                F(exchange)(space, a, ld, q, q + 1, r, n, pivots);
                F(fetch)(space, a, ld, q, q, n, pivots, x);
                F(fetch)(space, a, ld, q, q + 1, n, pivots, y);
                F(take_two)(space, q, n, pivots, tally);
                q += 2, pivots += 2, taken += 2;
                continue;
            }
        }
        F(exchange)(space, a, ld, q, q, --end, n, pivots);
    }
}

/* Column b of to = sum_c factors[c, b] times column c of from, in the rows start .. n - 1; columns lie inner apart. */
INLINED void F(mix_columns)(int outputs, int d, const double *factors, int across, int down, const double *from,
                            double *to, int ld, int ld_to, int start, int n, int inner) {
    for (int i = start; i < n; i += 2 * LANES) {
        V sum[5][2];
        UNROLLED for (int b = 0; b < outputs; b++) sum[b][0] = sum[b][1] = (V){0.0};
        for (int c = 0; c < d; c++) {
            const double *source = from + (size_t)c * inner * ld + i;
            V first = *(const V *)source, second = *(const V *)(source + LANES);
            UNROLLED for (int b = 0; b < outputs; b++) {
                double factor = factors[c * down + b * across];
                sum[b][0] += first * factor;
                sum[b][1] += second * factor;
            }
        }
        UNROLLED for (int b = 0; b < outputs; b++) {
            double *target = to + (size_t)b * inner * ld_to + i;
            *(V *)target = sum[b][0];
            *(V *)(target + LANES) = sum[b][1];
        }
    }
}

static void F(mix)(int d, const double *factors, int across, int down, const double *from, double *to, int ld,
                   int ld_to, int start, int n, int inner, int outer) {
    start -= start % (2 * LANES);
    for (int g = 0; g < d; g++) {
        const double *source = from + (size_t)g * outer * ld;
        double *target = to + (size_t)g * outer * ld_to;
        int b = 0;
        for (; b + 5 <= d; b += 5)
            F(mix_columns)(5, d, factors + b * across, across, down, source, target + (size_t)b * inner * ld_to, ld,
                           ld_to, start, n, inner);
        for (; b < d; b++)
            F(mix_columns)(1, d, factors + b * across, across, down, source, target + (size_t)b * inner * ld_to, ld,
                           ld_to, start, n, inner);
    }
}

static void F(copy)(const double *from, double *to, int ld, int ld_to, int start, int n, int columns) {
    for (int j = 0; j < columns; j++)
        memcpy(to + (size_t)j * ld_to + start, from + (size_t)j * ld + start, (n - start) * sizeof(double));
}

typedef struct {
    int boundary_in, boundary_out; /* blocks of the boundary behind and before the layer */
    const double *weight, *before; /* weight: plus the identity where a unit is one layer */
} F(Layer);

/* Columns of (put off, X) become columns of (put off, v, boundary): eq. 4.
 * At a unit's last layer F' = s + W h + v B, and the skip's columns are those of F' itself. Rows that only the upper
 * triangle has are left out if only the lower is wanted. */
static void F(substitute)(const F(Layer) * layer, int d, int k, const double *from, double *to, int ld, int ld_to,
                          int n, int lower) {
    int square = d * d;
    const double *hidden = from + (size_t)(k + (layer->boundary_in - 1) * square) * ld, *skip = from + (size_t)k * ld;
    double *control = to + (size_t)k * ld_to, *bound = control + (size_t)square * ld_to;
    int at_v = lower ? k : 0, at_s = lower ? k + square : 0, at_h = lower ? k + 2 * square : 0;
    F(copy)(from, to, ld, ld_to, 0, n, k);
    /* v B: (i, k) gets sum_j B[k, j] (i, j); before is row-major, so down (j) 1, across (k) d. */
    F(mix)(d, layer->before, d, 1, hidden, control, ld, ld_to, at_v, n, d, 1);
    /* W h: (k, j) gets sum_i W[i, k] (i, j). */
    if (layer->boundary_out == 2) {
        F(copy)(skip, bound, ld, ld_to, at_s, n, square);
        F(mix)(d, layer->weight, 1, d, hidden, bound + (size_t)square * ld_to, ld, ld_to, at_h, n, 1, d);
    } else if (layer->boundary_out == 1) {
        F(mix)(d, layer->weight, 1, d, hidden, bound, ld, ld_to, at_s, n, 1, d);
        if (layer->boundary_in == 2)
            for (int j = 0; j < square; j++)
                for (int i = at_s; i < n; i++) bound[i + (size_t)j * ld_to] += skip[i + (size_t)j * ld];
    }
}

static void F(transpose)(const double *from, double *to, int rows, int columns, int ld, int ld_to) {
    for (int j = 0; j < columns; j += 8)
        for (int i = 0; i < rows; i += 8) {
            int most_j = j + 8 < columns ? j + 8 : columns, most_i = i + 8 < rows ? i + 8 : rows;
            for (int jj = j; jj < most_j; jj++)
                for (int ii = i; ii < most_i; ii++) to[jj + (size_t)ii * ld_to] = from[ii + (size_t)jj * ld];
        }
}

/* The rest of a front as a full symmetric matrix. */
static void F(leave)(const double *a, int ld, int q, int n, double *to, int ld_to) {
    for (int j = q; j < n; j++)
        for (int i = j; i < n; i++) {
            double value = a[i + (size_t)j * ld];
            to[(i - q) + (size_t)(j - q) * ld_to] = value;
            to[(j - q) + (size_t)(i - q) * ld_to] = value;
        }
}

static int F(count)(const Work *work, Space *space, double shift, Tally *tally) {
    int d = work->width, square = d * d, k = 0, blocks_in = 1, n_old = square, ld_old = leading(square);
    double joined[d * d];
    double *old = space->turned;
    memset(old, 0, (size_t)ld_old * square * sizeof(double));
    for (int j = 0; j < d; j++)
        for (int i = 0; i < d; i++)
            for (int c = 0; c < d; c++) old[(i + d * j) + (size_t)(i + d * c) * ld_old] = work->second[j * d + c];
    for (int l = work->depth - 1; l >= 0; l--) {
        int boundary = l == 0 ? 0 : (l % work->unit_depth == 0 ? 1 : 2);
        const double *weight = work->weights + (size_t)l * square;
        if (work->has_shortcuts && work->unit_depth == 1) {
            memcpy(joined, weight, sizeof(joined));
            for (int i = 0; i < d; i++) joined[i * d + i] += 1.0;
            weight = joined;
        }
        F(Layer) layer = {blocks_in, boundary, weight, work->before + (size_t)l * square};
        int n = k + square * (1 + boundary), ld = leading(n);
        F(substitute)(&layer, d, k, old, space->mixed, ld_old, ld_old, n_old, 0);
        F(transpose)(space->mixed, space->front, n_old, n, ld_old, ld);
        double *a = space->mixed;
        F(substitute)(&layer, d, k, space->front, a, ld, ld, n, 1);
        for (int i = k; i < k + square; i++) a[i + (size_t)i * ld] -= shift;
        if (boundary) {
            /* <Lambda, v h>: v_(i, c) with h_(c, j). */
            const double *slope = work->slopes + (size_t)l * square;
            int h = k + square * boundary;
            for (int c = 0; c < d; c++)
                for (int i = 0; i < d; i++)
                    for (int j = 0; j < d; j++) a[(h + c + d * j) + (size_t)(k + i + d * c) * ld] += slope[i * d + j];
        }
        int q = F(eliminate)(space, a, ld, n, k + square, work->threshold, tally);
        k += square - q;
        tally->delayed = k > tally->delayed ? k : tally->delayed;
        if (k > work->most_delayed || (l == 0 && k)) return -1;
        n_old = n - q;
        ld_old = leading(n_old);
        blocks_in = boundary;
        F(leave)(a, ld, q, n, space->turned, ld_old);
        old = space->turned;
    }
    return 0;
}

#undef F
#undef V
#undef TILE_ROWS
#undef TILE_COLUMNS
