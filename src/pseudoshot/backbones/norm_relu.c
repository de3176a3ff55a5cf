/* Batch normalisation and ReLU of a channels-last map without pooling, and what is added to it, in as few passes over
   memory as they need. Rows are pixels, the channels of one side by side.

   Sums are taken in a fixed number of parts, whatever the number of threads: the same bits each time. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define BLOCK 128 /* rows added up in single precision before they go into a double */

/* y = relu(scale * x + shift) + added; `added` may be missing. */
int64_t norm_relu_forward(const float *restrict x, const float *restrict scale, const float *restrict shift,
                          const float *restrict added, int64_t rows, int64_t channels, int64_t threads,
                          float *restrict y) {
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict in = x + row * channels, *restrict more = added + row * channels;
        float *restrict out = y + row * channels;
        for (int64_t c = 0; c < channels; c++) {
            float v = scale[c] * in[c] + shift[c];
            out[c] = v < 0 ? 0 : v; /* what is not a number stays so, and is found in the loss */
        }
        if (added)
            for (int64_t c = 0; c < channels; c++) out[c] += more[c];
    }
    return 0;
}

/* Of each channel: the sum of the gradients that pass the ReLU, and that of their products with x. */
int64_t norm_relu_backward_sums(const float *x, const float *scale, const float *shift, const float *gradient,
                                int64_t rows, int64_t channels, int64_t threads, double *sum, double *product) {
    memset(sum, 0, channels * sizeof(double));
    memset(product, 0, channels * sizeof(double));
    int64_t blocks = (rows + BLOCK - 1) / BLOCK;
    int64_t parts = blocks < PARTS ? blocks : PARTS;
    double *totals = calloc((size_t)(parts * 2 * channels), sizeof(double));
    if (!totals) return 1;
#pragma omp parallel num_threads((int)threads)
    {
        float sums[2 * channels];
#pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; part++) {
            double *total = totals + part * 2 * channels;
            for (int64_t block = part * blocks / parts; block < (part + 1) * blocks / parts; block++) {
                int64_t end = (block + 1) * BLOCK < rows ? (block + 1) * BLOCK : rows;
                float *restrict of_gradient = sums, *restrict of_product = sums + channels;
                memset(sums, 0, sizeof sums);
                for (int64_t row = block * BLOCK; row < end; row++) {
                    const float *restrict in = x + row * channels, *restrict g = gradient + row * channels;
                    for (int64_t c = 0; c < channels; c++) {
                        float passed = scale[c] * in[c] + shift[c] > 0 ? g[c] : 0;
                        of_gradient[c] += passed;
                        of_product[c] += passed * in[c];
                    }
                }
                for (int64_t c = 0; c < 2 * channels; c++) total[c] += sums[c];
            }
        }
    }
    for (int64_t part = 0; part < parts; part++)
        for (int64_t c = 0; c < channels; c++) {
            sum[c] += totals[part * 2 * channels + c];
            product[c] += totals[part * 2 * channels + channels + c];
        }
    free(totals);
    return 0;
}

/* dx = slope * x + offset everywhere, plus scale * gradient where the ReLU let it pass. */
int64_t norm_relu_backward(const float *restrict x, const float *restrict scale, const float *restrict shift,
                           const float *restrict gradient, const float *restrict slope,
                           const float *restrict offset, int64_t rows, int64_t channels, int64_t threads,
                           float *restrict dx) {
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict in = x + row * channels, *restrict g = gradient + row * channels;
        float *restrict out = dx + row * channels;
        for (int64_t c = 0; c < channels; c++) {
            float passed = scale[c] * in[c] + shift[c] > 0 ? g[c] : 0;
            out[c] = slope[c] * in[c] + offset[c] + scale[c] * passed;
        }
    }
    return 0;
}
