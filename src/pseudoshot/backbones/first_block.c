/* The first block of a backbone, convolution included. Its input has one channel or three, so a 3x3 patch is
   9 or 27 numbers ("taps", in the order of a channels-last weight), and all that batch normalisation and the
   gradient need of the convolution's output x = W patch are sums over patches: x is never stored.

   Functions that end in _of are copied for gray and for colour images: loops over taps then have constant
   lengths. Their sums have names of their own, as compilers keep these in registers, and arrays in memory. */

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

typedef double doubles __attribute__((vector_size(8 * LANES), aligned(8)));
#define INLINED static inline __attribute__((always_inline))

/* Nine sums of products of a tap and a vector; taps `per_row` side by side, the next `line` numbers on. */
#define GROUP 9
#define NINE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8)
#define DECLARE(t) vector s##t = {0};
#define ADD_TAP(t) s##t += tap[t / per_row * line + t % per_row] * values;
#define ADD_TO_TOTAL(t) *(doubles *)(total + t * stride) += __builtin_convertvector(s##t, doubles);

/* What one thread works with: an image with a border of zeros, and one line of something. */
typedef struct {
    float *padded, *of_line;
} Scratch;

static int64_t padded_size(int64_t height, int64_t width, int64_t channels) {
    return (height + 2) * (width + 2) * channels;
}

static void pad(const float *image, int64_t height, int64_t width, int64_t channels, float *padded) {
    int64_t line = (width + 2) * channels;
    memset(padded, 0, (size_t)padded_size(height, width, channels) * sizeof(float));
    for (int64_t i = 0; i < height; i++)
        memcpy(padded + (i + 1) * line + channels, image + i * width * channels,
               (size_t)(width * channels) * sizeof(float));
}

/* Rows of `sums` and of each part's `totals`; the parts are added in their order. */
static void add_parts(const double *totals, int64_t parts, int64_t size, double *sums) {
    for (int64_t part = 0; part < parts; part++)
        for (int64_t at = 0; at < size; at++) sums[at] += totals[part * size + at];
}

static int columns_of(int taps) { return (taps + LANES) / LANES * LANES; }

INLINED void patch_sums_of(Scratch scratch, int64_t height, int64_t width, int channels, double *sums) {
    const int taps = 9 * channels, span = 3 * channels, per_row = GROUP, columns = columns_of(taps);
    const int64_t line = (width + 2) * channels, stride = columns;
    for (int64_t i = 0; i < height; i++) {
        for (int64_t j = 0; j < width; j++) {
            float *patch = scratch.of_line + j * columns;
            for (int r = 0; r < 3; r++)
                memcpy(patch + r * span, scratch.padded + (i + r) * line + j * channels, sizeof(float) * (size_t)span);
            patch[taps] = 1;
        }
        for (int first = 0; first < taps; first += GROUP)
            for (int column = first / LANES * LANES; column < columns; column += LANES) {
                double *total = sums + first * columns + column;
                NINE(DECLARE)
                for (int64_t j = 0; j < width; j++) {
                    const float *tap = scratch.of_line + j * columns + first;
                    vector values = *(const vector *)(scratch.of_line + j * columns + column);
                    NINE(ADD_TAP)
                }
                NINE(ADD_TO_TOTAL)
            }
    }
}

/* Sums over all patches p of p p^T, (taps, columns): only from the diagonal on, the rest is its mirror; one
   more column sums p itself. */
int64_t patch_sums(const float *images, int64_t count, int64_t height, int64_t width, int64_t channels,
                   int64_t threads, double *sums) {
    int64_t taps = 9 * channels, columns = columns_of((int)taps), size = taps * columns;
    int64_t parts = count < PARTS ? count : PARTS, pixels = height * width * channels;
    int64_t padded = padded_size(height, width, channels), own = padded + width * columns;
    double *totals = calloc((size_t)(parts * size), sizeof(double));
    float *scratch = calloc((size_t)(threads * own), sizeof(float));
    int failed = !totals || !scratch;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t part = 0; part < (failed ? 0 : parts); part++) {
        float *mine = scratch + omp_get_thread_num() * own;
        Scratch buffers = {mine, mine + padded};
        for (int64_t image = part * count / parts; image < (part + 1) * count / parts; image++) {
            pad(images + image * pixels, height, width, channels, mine);
            if (channels == 1)
                patch_sums_of(buffers, height, width, 1, totals + part * size);
            else
                patch_sums_of(buffers, height, width, 3, totals + part * size);
        }
    }
    if (!failed) add_parts(totals, parts, size, sums);
    free(totals);
    free(scratch);
    return failed;
}

INLINED void forward_of(const float *padded, const float *weights, const float *scale, const float *shift,
                        int64_t height, int64_t width, int channels, int64_t filters, float *y, uint8_t *which) {
    const int span = 3 * channels;
    const int64_t line = (width + 2) * channels, h = height / 2, w = width / 2;
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++)
            for (int64_t filter = 0; filter < filters; filter += 2 * LANES) {
                const float *corner = padded + 2 * i * line + 2 * j * channels, *tap = weights + filter;
                vector a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0}, c0 = {0}, c1 = {0}, d0 = {0}, d1 = {0};
                for (int r = 0; r < 3; r++)
                    for (int t = 0; t < span; t++, tap += filters) {
                        const float *upper = corner + r * line + t, *lower = upper + line;
                        vector left = *(const vector *)tap, right = *(const vector *)(tap + LANES);
                        IN_REGISTER(left);
                        IN_REGISTER(right);
                        a0 += upper[0] * left, a1 += upper[0] * right;
                        b0 += upper[channels] * left, b1 += upper[channels] * right;
                        c0 += lower[0] * left, c1 += lower[0] * right;
                        d0 += lower[channels] * left, d1 += lower[channels] * right;
                    }
                vector pixels[4][2] = {{a0, a1}, {b0, b1}, {c0, c1}, {d0, d1}};
                const float *x = (const float *)pixels;
                int64_t at = (i * w + j) * filters + filter;
                pool_pixel(x, x + 2 * LANES, x + 4 * LANES, x + 6 * LANES, scale + filter, shift + filter,
                           2 * LANES, y + at, which + at);
            }
}

/* y = relu(max over 2x2 of scale * (W patch) + shift), the weights as (taps, filters); `which` remembers the
   first maximum, 0 to 3. */
int64_t first_forward(const float *images, const float *weights, const float *scale, const float *shift,
                      int64_t count, int64_t height, int64_t width, int64_t channels, int64_t filters,
                      int64_t threads, float *y, uint8_t *which) {
    int64_t padded = padded_size(height, width, channels), out = height / 2 * (width / 2) * filters;
    float *scratch = malloc((size_t)(threads * padded) * sizeof(float));
    if (!scratch) return 1;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t image = 0; image < count; image++) {
        float *mine = scratch + omp_get_thread_num() * padded, *y_of = y + image * out;
        uint8_t *which_of = which + image * out;
        pad(images + image * height * width * channels, height, width, channels, mine);
        if (channels == 1)
            forward_of(mine, weights, scale, shift, height, width, 1, filters, y_of, which_of);
        else
            forward_of(mine, weights, scale, shift, height, width, 3, filters, y_of, which_of);
    }
    free(scratch);
    return 0;
}

/* The gradients of one pooled line that pass the ReLU, put back on the four pixels that each may come from;
   their sums are added up. */
static void spread(const float *restrict y, const float *restrict gradient, const uint8_t *restrict which,
                   int64_t w, int64_t filters, float *restrict passed, double *restrict sums) {
    float line_sums[filters];
    memset(line_sums, 0, sizeof line_sums);
    for (int64_t j = 0; j < w; j++, y += filters, gradient += filters, which += filters, passed += 4 * filters) {
        float *restrict p0 = passed, *restrict p1 = p0 + filters, *restrict p2 = p1 + filters,
                       *restrict p3 = p2 + filters;
        for (int64_t c = 0; c < filters; c++) {
            float g = y[c] > 0 ? gradient[c] : 0;
            line_sums[c] += g;
            p0[c] = which[c] == 0 ? g : 0;
            p1[c] = which[c] == 1 ? g : 0;
            p2[c] = which[c] == 2 ? g : 0;
            p3[c] = which[c] == 3 ? g : 0;
        }
    }
    for (int64_t c = 0; c < filters; c++) sums[c] += line_sums[c];
}

INLINED void backward_of(Scratch scratch, int64_t i, int64_t width, int channels, int64_t filters, double *sums) {
    const int taps = 9 * channels, per_row = 3 * channels;
    const int64_t line = (width + 2) * channels, stride = filters;
    for (int first = 0; first < taps; first += GROUP)
        for (int64_t filter = 0; filter < filters; filter += LANES) {
            const float *row = scratch.padded + (2 * i + first / GROUP) * line;
            const float *from = scratch.of_line + filter;
            double *total = sums + first * filters + filter;
            NINE(DECLARE)
            for (int64_t j = 0; j < width / 2; j++)
                for (int k = 0; k < 4; k++, from += filters) {
                    const float *tap = row + (k / 2) * line + (2 * j + k % 2) * channels;
                    vector values = *(const vector *)from;
                    NINE(ADD_TAP)
                }
            NINE(ADD_TO_TOTAL)
        }
}

/* Of each filter: the products of the gradients that pass the ReLU with the patches they go to, and those
   gradients, summed up: (taps + 1, filters). */
int64_t first_backward(const float *images, const float *y, const float *gradient, const uint8_t *which,
                       int64_t count, int64_t height, int64_t width, int64_t channels, int64_t filters,
                       int64_t threads, double *sums) {
    int64_t h = height / 2, w = width / 2, taps = 9 * channels, size = (taps + 1) * filters;
    int64_t parts = count < PARTS ? count : PARTS;
    int64_t padded = padded_size(height, width, channels), own = padded + w * 4 * filters;
    double *totals = calloc((size_t)(parts * size), sizeof(double));
    float *scratch = malloc((size_t)(threads * own) * sizeof(float));
    int failed = !totals || !scratch;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t part = 0; part < (failed ? 0 : parts); part++) {
        float *mine = scratch + omp_get_thread_num() * own;
        Scratch buffers = {mine, mine + padded};
        double *total = totals + part * size;
        for (int64_t row = part * count / parts * h; row < (part + 1) * count / parts * h; row++) {
            int64_t image = row / h, i = row % h, at = row * w * filters;
            if (i == 0) pad(images + image * height * width * channels, height, width, channels, mine);
            spread(y + at, gradient + at, which + at, w, filters, buffers.of_line, total + taps * filters);
            if (channels == 1)
                backward_of(buffers, i, width, 1, filters, total);
            else
                backward_of(buffers, i, width, 3, filters, total);
        }
    }
    if (!failed) add_parts(totals, parts, size, sums);
    free(totals);
    free(scratch);
    return failed;
}
