import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

struct image {
    int64_t batch, in, out, height, width;
};

/* Channel c of the convolution, all images, 3 x 3 without a border. */
static void convolve(const struct image *s, const float *x, const float *w, float bias,
                     int64_t c, float *y)
{
    int64_t oh = s->height - 2, ow = s->width - 2;

    for (int64_t b = 0; b < s->batch; b++) {
        for (int64_t at = 0; at < oh * ow; at++) {
            double sum = bias;
            for (int64_t t = 0; t < s->in * 9; t++) {
                int64_t h = at / ow + t % 9 / 3, v = at % ow + t % 3;
                sum += (double)w[c * s->in * 9 + t]
                       * x[((b * s->in + t / 9) * s->height + h) * s->width + v];
            }
            y[(b * s->out + c) * oh * ow + at] = (float)sum;
        }
    }
}

void conv_kernel(const float *x, const float *w, const float *bias, float *y,
                      int64_t batch, int64_t in, int64_t out, int64_t height, int64_t width)
{
    struct image s = {batch, in, out, height, width};

    for (int64_t c = 0; c < out; c++)
        convolve(&s, x, w, bias[c], c, y);
}

void norm_kernel(float *y, const float *weight, const float *bias, float *mean, float *var,
                 int64_t *count, int64_t batch, int64_t channels, int64_t plane)
{
    double n = (double)(batch * plane);

    for (int64_t c = 0; c < channels; c++) {
        double m = 0.0, v = 0.0;
        for (int64_t i = 0; i < batch * plane; i++)
            m += y[(i / plane * channels + c) * plane + i % plane] / n;
        for (int64_t i = 0; i < batch * plane; i++) {
            double d = y[(i / plane * channels + c) * plane + i % plane] - m;
            v += d * d;
        }
        for (int64_t i = 0; i < batch * plane; i++) {
            float *p = y + (i / plane * channels + c) * plane + i % plane;
            *p = (float)(((*p - m) / sqrt(v / n + 1e-5) * weight[c] + bias[c]) * 0.5);
        }
        mean[c] += (float)(0.1 * (m - mean[c]));
        var[c] += (float)(0.1 * (v / (n - 1.0) - var[c]));
    }
    *count += 1;
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    """The convolution and the normalisation are holders of their parameters."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.bn = nn.BatchNorm2d(out_channels)

    def forward(self, x):
        b, c, h, w = x.shape
        out, bn = self.conv.weight.shape[0], self.bn
        y = torch.empty(b, out, h - 2, w - 2)
        lib.conv_kernel(
            x.contiguous(), self.conv.weight, self.conv.bias, y, b, c, out, h, w
        )
        lib.norm_kernel(
            y, bn.weight, bn.bias, bn.running_mean, bn.running_var, bn.num_batches_tracked,
            b, out, (h - 2) * (w - 2),
        )
        return y
