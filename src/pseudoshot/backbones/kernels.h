/* What the C files share. */

#include <stdint.h>

#define PARTS 64 /* of every sum, whatever the number of threads: the same bits each time */

#define LANES 8
typedef float vector __attribute__((vector_size(4 * LANES), aligned(4)));

#if defined(__x86_64__)
#define IN_REGISTER(v) __asm__("" : "+x"(v)) /* loaded once, not by each product that uses it */
#else
#define IN_REGISTER(v)
#endif

/* One pixel of the pooled map. */
static inline void pool_pixel(const float *restrict x0, const float *restrict x1, const float *restrict x2,
                       const float *restrict x3, const float *restrict scale, const float *restrict shift,
                       int64_t channels, float *restrict y, uint8_t *restrict which) {
    for (int64_t c = 0; c < channels; c++) {
        float v0 = scale[c] * x0[c] + shift[c], v1 = scale[c] * x1[c] + shift[c];
        float v2 = scale[c] * x2[c] + shift[c], v3 = scale[c] * x3[c] + shift[c];
        float upper = v1 > v0 ? v1 : v0, lower = v3 > v2 ? v3 : v2;
        int in_upper = v1 > v0, in_lower = 2 + (v3 > v2);
        float best = lower > upper ? lower : upper;
        which[c] = (uint8_t)(lower > upper ? in_lower : in_upper);
        y[c] = best < 0 ? 0 : best; /* what is not a number stays so, and is found in the loss */
    }
}
