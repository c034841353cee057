import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <math.h>
#include <stdint.h>

struct shape {
    int64_t batch, channels, plane;
};

/* Mean of channel c, and the sum of the squared differences from it. */
static double channel_mean(const struct shape *s, const float *x, int64_t c, double *squares)
{
    double sum = 0.0;

    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t j = 0; j < s->plane; j++)
            sum += x[(b * s->channels + c) * s->plane + j];
    double mean = sum / (double)(s->batch * s->plane);
    *squares = 0.0;
    for (int64_t b = 0; b < s->batch; b++) {
        for (int64_t j = 0; j < s->plane; j++) {
            double d = x[(b * s->channels + c) * s->plane + j] - mean;
            *squares += d * d;
        }
    }
    return mean;
}

void batch_norm_kernel(const float *x, const float *weight, const float *bias, float *y,
                       float *running_mean, float *running_var, int64_t *count,
                       int64_t batch, int64_t channels, int64_t plane,
                       double momentum, double eps)
{
    struct shape s = {batch, channels, plane};
    double n = (double)(batch * plane);

    for (int64_t c = 0; c < channels; c++) {
        double squares;
        double mean = channel_mean(&s, x, c, &squares);
        double scale = weight[c] / sqrt(squares / n + eps);
        for (int64_t b = 0; b < batch; b++) {
            for (int64_t j = 0; j < plane; j++) {
                int64_t at = (b * channels + c) * plane + j;
                y[at] = (float)((x[at] - mean) * scale + bias[c]);
            }
        }
        running_mean[c] = (float)((1.0 - momentum) * running_mean[c] + momentum * mean);
        running_var[c] = (float)((1.0 - momentum) * running_var[c]
                                 + momentum * squares / (n - 1.0));
    }
    *count += 1;
}
"""

lib = build(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        y = torch.empty_like(x)
        norm = self.norm
        lib.batch_norm_kernel(
            x, norm.weight, norm.bias, y, norm.running_mean, norm.running_var,
            norm.num_batches_tracked, batch, channels, height * width, norm.momentum, norm.eps,
        )
        return y
