"""The fused kernel for CUDA in Triton. Imports triton, so it is imported only where that is wanted.

A program has one run and every PARTS-th block of samples, and takes each block forward through all layers and back.
Every thread of its one warp holds the features of a few samples of its own in registers, so that a layer's product is
WIDTH^2 multiplications by weights that all threads share, in single precision and without padding, and needs no other
thread. Only a gradient by weights goes from thread to thread, once a layer, when each thread has summed its own
samples' part. What enters a layer waits in ``states``, a place of the program's own that it uses again for each block.
"""

import triton
import triton.language as tl

THREADS = tl.constexpr(32)
"""Of one program, a single warp: so nothing waits for another warp."""


@triton.jit
def loaded(start, lane, SAMPLES: tl.constexpr, WIDTH: tl.constexpr):
    """A block's features, each a vector over the samples, from (WIDTH, SAMPLES) in memory."""
    features = ()
    for i in tl.static_range(WIDTH):
        features = features + (tl.load(start + i * SAMPLES + lane),)
    return features


@triton.jit
def keep(features, start, lane, SAMPLES: tl.constexpr, WIDTH: tl.constexpr):
    """Put features where :func:`loaded` finds them."""
    for i in tl.static_range(WIDTH):
        tl.store(start + i * SAMPLES + lane, features[i])


@triton.jit
def product(start, features, ROW: tl.constexpr, COLUMN: tl.constexpr, WIDTH: tl.constexpr):
    """A matrix in memory times features; its rows and columns are ROW and COLUMN numbers apart."""
    found = ()
    for i in tl.static_range(WIDTH):
        total = tl.load(start + i * ROW) * features[0]
        for j in tl.static_range(1, WIDTH):
            total += tl.load(start + i * ROW + j * COLUMN) * features[j]
        found = found + (total,)
    return found


@triton.jit
def plus(left, right, WIDTH: tl.constexpr):
    """The sum of two."""
    found = ()
    for i in tl.static_range(WIDTH):
        found = found + (left[i] + right[i],)
    return found


@triton.jit
def minus(left, right, WIDTH: tl.constexpr):
    """The difference of two."""
    found = ()
    for i in tl.static_range(WIDTH):
        found = found + (left[i] - right[i],)
    return found


@triton.jit
def rectified(features, WIDTH: tl.constexpr):
    """Features where they are positive, else 0; what is not a number stays so: its run is known to have diverged."""
    found = ()
    for i in tl.static_range(WIDTH):
        found = found + (tl.where(features[i] <= 0, 0.0, features[i]),)
    return found


@triton.jit
def where_positive(features, by, WIDTH: tl.constexpr):
    """Features where ``by`` is positive, else 0."""
    found = ()
    for i in tl.static_range(WIDTH):
        found = found + (tl.where(by[i] > 0, features[i], 0.0),)
    return found


@triton.jit
def half_loss(errors, WIDTH: tl.constexpr):
    """Half the sum of all squares."""
    squares = errors[0] * errors[0]
    for i in tl.static_range(1, WIDTH):
        squares += errors[i] * errors[i]
    return 0.5 * tl.sum(squares).to(tl.float64)


@triton.jit
def joined(parts, HALF: tl.constexpr):
    """Tensors pair by pair side by side: part k with part k + HALF."""
    pairs = ()
    for k in tl.static_range(HALF):
        pairs = pairs + (tl.join(parts[k], parts[k + HALF]),)
    return pairs


@triton.jit
def outer(left, right, SAMPLES: tl.constexpr, WIDTH: tl.constexpr):
    """The sum over samples of left right^T, row by row, and zeros up to 128 numbers.

    The threads' sums are the rows of a tile. Its product with a row of ones is a sum over threads for which every
    thread reads some columns of it; tl.sum would pass each number through the warp five times.
    """
    OWN: tl.constexpr = SAMPLES // THREADS
    sums = ()
    for i in tl.static_range(WIDTH):
        for j in tl.static_range(WIDTH):
            sums = sums + (tl.sum(tl.reshape(left[i] * right[j], (THREADS, OWN)), axis=1),)
    for _ in tl.static_range(WIDTH * WIDTH, 128):
        sums = sums + (tl.zeros_like(sums[0]),)
    whole = joined(joined(joined(joined(joined(joined(joined(sums, 64), 32), 16), 8), 4), 2), 1)
    tile = tl.reshape(whole[0], (THREADS, 128))
    ones = tl.full((1, THREADS), 1.0, tl.float32)
    return tl.reshape(tl.dot(ones, tile, input_precision="ieee"), (128,))


# Compiled once for all depths.
@triton.jit(do_not_specialize=["blocks", "depth"])
def loss_and_gradient(
    inputs, targets, weights, states, gradients, losses, blocks, depth,
    PERIOD: tl.constexpr, RELU_BEFORE: tl.constexpr, RELU_AFTER: tl.constexpr, ENTERS: tl.constexpr,
    LEAVES: tl.constexpr, SLOTS: tl.constexpr, PARTS: tl.constexpr, SAMPLES: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The sum over a part of the samples of |y - f(x)|^2 / 2, and its gradient, of the run and part of this program.

    Args:
        inputs, targets: float32, (blocks, WIDTH, SAMPLES); zero where the last block has no sample.
        weights: float32, (runs, depth, WIDTH, WIDTH).
        states: float32, (runs, PARTS, SLOTS * depth, WIDTH, SAMPLES); what it holds does not matter.
        gradients: float32, (runs, PARTS, depth, WIDTH, WIDTH), zeros that the sums are added to.
        losses: float64, (runs, PARTS).
        blocks, depth: how many.
        PERIOD: layers after which what surrounds a layer's product comes again.
        RELU_BEFORE, RELU_AFTER, ENTERS, LEAVES: at which of these layers a ReLU comes before or after the product, a
            shortcut begins, or is added once the activation has been taken; one bit a layer.
        SLOTS: 2 where a ReLU's output is kept because a shortcut is added to it at once, else 1.
        PARTS: programs of one run.
        SAMPLES: of a block, a multiple of THREADS.
        WIDTH: of a layer, at most 11.
    """
    program = tl.program_id(0).to(tl.int64)
    part = (program % PARTS).to(tl.int32)
    lane, entries = tl.arange(0, SAMPLES), tl.arange(0, 128)
    BLOCK: tl.constexpr = SAMPLES * WIDTH
    LAYER: tl.constexpr = WIDTH * WIDTH
    weights += program // PARTS * depth * LAYER
    gradients += program * depth * LAYER
    states += program * depth * (SLOTS * BLOCK)
    kept = states + depth * BLOCK
    units = depth // PERIOD
    loss = tl.full((), 0.0, tl.float64)

    for block in range(part, blocks, PARTS):
        start = block * BLOCK
        state = loaded(inputs + start, lane, SAMPLES, WIDTH)
        for unit in range(units):
            entry = state
            for place in tl.static_range(PERIOD):
                layer = unit * PERIOD + place
                keep(state, states + layer * BLOCK, lane, SAMPLES, WIDTH)
                if (RELU_BEFORE >> place) & 1:
                    state = rectified(state, WIDTH)
                state = product(weights + layer * LAYER, state, WIDTH, 1, WIDTH)
                if (RELU_AFTER >> place) & 1:
                    state = rectified(state, WIDTH)
                    if (LEAVES >> place) & 1:
                        keep(state, kept + layer * BLOCK, lane, SAMPLES, WIDTH)
                if (LEAVES >> place) & 1:
                    state = plus(state, entry, WIDTH)

        gradient = minus(state, loaded(targets + start, lane, SAMPLES, WIDTH), WIDTH)
        loss += half_loss(gradient, WIDTH)
        # Whichever thread reads from here on what another has written, finds it.
        tl.debug_barrier()
        for done in range(units):
            skipped = gradient
            for place in tl.static_range(PERIOD - 1, -1, -1):
                layer = (units - 1 - done) * PERIOD + place
                entering = loaded(states + layer * BLOCK, lane, SAMPLES, WIDTH)
                if (RELU_AFTER >> place) & 1:
                    if (LEAVES >> place) & 1:
                        state = loaded(kept + layer * BLOCK, lane, SAMPLES, WIDTH)
                    gradient = where_positive(gradient, state, WIDTH)
                right = entering
                if (RELU_BEFORE >> place) & 1:
                    right = rectified(entering, WIDTH)
                at = gradients + layer * LAYER + entries
                sums = tl.load(at, mask=entries < LAYER, other=0.0) + outer(gradient, right, SAMPLES, WIDTH)
                tl.store(at, sums, mask=entries < LAYER)
                gradient = product(weights + layer * LAYER, gradient, 1, WIDTH, WIDTH)
                if (RELU_BEFORE >> place) & 1:
                    gradient = where_positive(gradient, entering, WIDTH)
                if (ENTERS >> place) & 1:
                    gradient = plus(gradient, skipped, WIDTH)
                # What enters this layer is what the one before has put out.
                state = entering
        tl.debug_barrier()
    tl.store(losses + program, loss)
