/* The gradient of a 3x3 convolution's weights, of channels-last maps: at each of the nine shifts, the sum over
   positions of input times gradient. Twelve vectors of sums stay in registers: three neighbouring shifts, two
   channels of the input, sixteen of the output. */

#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define POSITIONS 128 /* whose products are added up in registers; what they read stays in the first cache */
#define FEW_PARTS 16  /* of the sum, as each has the size of all weights */

/* totals[s][c][lane] += the sum over rows and over j of x[j + s][c] * gradient[j][lane]; a row of x begins at its
   start, one of the gradient follows the other. */
static void add_products(const float *x, const int64_t *starts, const float *gradient, int64_t rows, int64_t width,
                         int64_t channels, int64_t filters, float *totals) {
    vector a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0}, c0 = {0}, c1 = {0};
    vector d0 = {0}, d1 = {0}, e0 = {0}, e1 = {0}, f0 = {0}, f1 = {0};
    for (int64_t row = 0; row < rows; row++) {
        const float *p = x + starts[row], *q = p + channels, *u = q + channels;
        const float *g = gradient + row * width * filters;
        for (int64_t j = 0; j < width; j++) {
            vector v0 = *(const vector *)g, v1 = *(const vector *)(g + LANES);
            IN_REGISTER(v0);
            IN_REGISTER(v1);
            a0 += p[0] * v0, a1 += p[0] * v1;
            b0 += p[1] * v0, b1 += p[1] * v1;
            c0 += q[0] * v0, c1 += q[0] * v1;
            d0 += q[1] * v0, d1 += q[1] * v1;
            e0 += u[0] * v0, e1 += u[0] * v1;
            f0 += u[1] * v0, f1 += u[1] * v1;
            p += channels, q += channels, u += channels, g += filters;
        }
    }
    int64_t tap = channels * filters;
#define ADD(s, c, v, w)                                            \
    *(vector *)(totals + s * tap + c * filters) += v;              \
    *(vector *)(totals + s * tap + c * filters + LANES) += w;
    ADD(0, 0, a0, a1)
    ADD(0, 1, b0, b1)
    ADD(1, 0, c0, c1)
    ADD(1, 1, d0, d1)
    ADD(2, 0, e0, e1)
    ADD(2, 1, f0, f1)
}

/* sums is (3, 3, channels, filters). Small maps are taken several at a time, large ones a few rows at a time. */
int64_t weight_gradient(const float *x, const float *gradient, int64_t count, int64_t height, int64_t width,
                        int64_t channels, int64_t filters, int64_t threads, float *sums) {
    int64_t size = 9 * channels * filters, line = (width + 2) * channels, whole = (height + 2) * line;
    int64_t group = POSITIONS / (height * width) > 1 ? POSITIONS / (height * width) : 1;
    int64_t block = POSITIONS / width > 1 ? POSITIONS / width : 1;
    int64_t groups = (count + group - 1) / group, parts = groups < FEW_PARTS ? groups : FEW_PARTS;
    float *totals = calloc((size_t)(parts * size), sizeof(float));
    float *scratch = calloc((size_t)(threads * group * whole), sizeof(float));
    int failed = !totals || !scratch;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t part = 0; part < (failed ? 0 : parts); part++) {
        float *padded = scratch + omp_get_thread_num() * group * whole, *total = totals + part * size;
        for (int64_t at = part * groups / parts; at < (part + 1) * groups / parts; at++) {
            int64_t first = at * group, images = count - first < group ? count - first : group;
            for (int64_t row = 0; row < images * height; row++)
                memcpy(padded + row / height * whole + (row % height + 1) * line + channels,
                       x + (first * height + row) * width * channels, (size_t)(width * channels) * sizeof(float));
            for (int64_t begin = 0; begin < images * height; begin += block) {
                int64_t rows = images * height - begin < block ? images * height - begin : block;
                int64_t starts[rows];
                for (int64_t row = 0; row < rows; row++)
                    starts[row] = (begin + row) / height * whole + (begin + row) % height * line;
                const float *from = gradient + (first * height + begin) * width * filters;
                for (int64_t filter = 0; filter < filters; filter += 2 * LANES)
                    for (int64_t r = 0; r < 3; r++)
                        for (int64_t channel = 0; channel < channels; channel += 2)
                            add_products(padded + r * line + channel, starts, from + filter, rows, width,
                                         channels, filters,
                                         total + (r * 3 * channels + channel) * filters + filter);
            }
        }
    }
    if (!failed) {
#pragma omp parallel for schedule(static) num_threads((int)threads)
        for (int64_t i = 0; i < size; i++) {
            double sum = 0;
            for (int64_t part = 0; part < parts; part++) sum += totals[part * size + i];
            sums[i] = (float)sum;
        }
    }
    free(totals);
    free(scratch);
    return failed;
}
