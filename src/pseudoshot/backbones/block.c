/* Batch normalisation, 2x2 max pooling and ReLU of a channels-last map, in as few passes over memory as
   they need. A map is (images, height, width, channels), the channels of a pixel side by side.

   Sums are taken in a fixed number of parts, whatever the number of threads: the same bits each time. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define BLOCK 128 /* rows added up in single precision before they go into a double */

/* Mean and variance of each channel over `rows` rows, shifted by the first row against cancellation. */
int64_t channel_moments(const float *x, int64_t rows, int64_t channels, int64_t threads, double *mean,
                    double *variance) {
    memset(mean, 0, channels * sizeof(double));
    memset(variance, 0, channels * sizeof(double));
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
                float *restrict sum = sums, *restrict squares = sums + channels;
                memset(sums, 0, sizeof sums);
                for (int64_t row = block * BLOCK; row < end; row++) {
                    const float *restrict r = x + row * channels;
                    for (int64_t c = 0; c < channels; c++) {
                        float d = r[c] - x[c];
                        sum[c] += d;
                        squares[c] += d * d;
                    }
                }
                for (int64_t c = 0; c < 2 * channels; c++) total[c] += sums[c];
            }
        }
    }
    for (int64_t part = 0; part < parts; part++)
        for (int64_t c = 0; c < channels; c++) {
            mean[c] += totals[part * 2 * channels + c];
            variance[c] += totals[part * 2 * channels + channels + c];
        }
    for (int64_t c = 0; c < channels; c++) {
        mean[c] /= rows;
        variance[c] = variance[c] / rows - mean[c] * mean[c];
        if (variance[c] < 0) variance[c] = 0;
        mean[c] += x[c];
    }
    free(totals);
    return 0;
}

/* y = relu(max over 2x2 of scale * x + shift); `which` remembers the first maximum, 0 to 3. */
int64_t pool_forward(const float *x, const float *scale, const float *shift, int64_t images, int64_t height,
                  int64_t width, int64_t channels, int64_t threads, float *y, uint8_t *which) {
    int64_t h = height / 2, w = width / 2;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t line = 0; line < images * h; line++) {
        int64_t image = line / h, i = line % h;
        for (int64_t j = 0; j < w; j++) {
            const float *x0 = x + ((image * height + 2 * i) * width + 2 * j) * channels;
            const float *x2 = x0 + width * channels;
            int64_t at = (line * w + j) * channels;
            pool_pixel(x0, x0 + channels, x2, x2 + channels, scale, shift, channels, y + at, which + at);
        }
    }
    return 0;
}

/* Of each channel: the sum of the gradients that pass the ReLU, and that of their products with x. */
int64_t pool_backward_sums(const float *x, const float *y, const float *gradient, const uint8_t *which,
                       int64_t images, int64_t height, int64_t width, int64_t channels, int64_t threads,
                       double *sum, double *product) {
    int64_t h = height / 2, w = width / 2;
    memset(sum, 0, channels * sizeof(double));
    memset(product, 0, channels * sizeof(double));
    int64_t parts = images < PARTS ? images : PARTS;
    double *totals = calloc((size_t)(parts * 2 * channels), sizeof(double));
    if (!totals) return 1;
#pragma omp parallel num_threads((int)threads)
    {
        float sums[2 * channels];
#pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; part++)
            for (int64_t line = part * images / parts * h; line < (part + 1) * images / parts * h; line++) {
                int64_t image = line / h, i = line % h;
                float *restrict of_gradient = sums, *restrict of_product = sums + channels;
                memset(sums, 0, sizeof sums);
                for (int64_t j = 0; j < w; j++) {
                    const float *restrict x0 = x + ((image * height + 2 * i) * width + 2 * j) * channels;
                    const float *restrict x1 = x0 + channels, *restrict x2 = x0 + width * channels,
                                *restrict x3 = x2 + channels;
                    int64_t at = (line * w + j) * channels;
                    for (int64_t c = 0; c < channels; c++) {
                        float g = y[at + c] > 0 ? gradient[at + c] : 0;
                        uint8_t k = which[at + c];
                        float v = k == 0 ? x0[c] : k == 1 ? x1[c] : k == 2 ? x2[c] : x3[c];
                        of_gradient[c] += g;
                        of_product[c] += g * v;
                    }
                }
                double *total = totals + part * 2 * channels;
                for (int64_t c = 0; c < 2 * channels; c++) total[c] += sums[c];
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

/* dx = slope * x + offset everywhere, plus scale * gradient where x was a maximum that passed. */
int64_t pool_backward(const float *restrict x, const float *restrict y, const float *restrict gradient,
                   const uint8_t *restrict which, const float *restrict scale, const float *restrict slope,
                   const float *restrict offset, int64_t images, int64_t height, int64_t width,
                   int64_t channels, int64_t threads, float *restrict dx) {
    int64_t h = height / 2, w = width / 2;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t line = 0; line < images * height; line++) {
        int64_t image = line / height, row = line % height, i = row / 2;
        for (int64_t column = 0; column < width; column++) {
            const float *restrict in = x + (line * width + column) * channels;
            float *restrict out = dx + (line * width + column) * channels;
            int64_t j = column / 2;
            if (i >= h || j >= w) { /* an odd last line is not pooled */
                for (int64_t c = 0; c < channels; c++) out[c] = slope[c] * in[c] + offset[c];
                continue;
            }
            uint8_t here = (uint8_t)(2 * (row & 1) + (column & 1));
            int64_t at = ((image * h + i) * w + j) * channels;
            for (int64_t c = 0; c < channels; c++) {
                float g = (which[at + c] == here && y[at + c] > 0) ? gradient[at + c] : 0;
                out[c] = slope[c] * in[c] + offset[c] + scale[c] * g;
            }
        }
    }
    return 0;
}
