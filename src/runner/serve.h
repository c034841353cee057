/* serve.h: one device and the plan that it has, asked through a socket. */
#ifndef RUNNER_SERVE_H
#define RUNNER_SERVE_H

#include "runner/device.h"

/* Until the judge closes its end. 0, or -1: what came was no request, or the
 * answer could not be sent. */
int serve(int sock, const struct device_kind *kind);

#endif
