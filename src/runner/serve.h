/* serve.h: serves one device and its plan over a socket. */
#ifndef RUNNER_SERVE_H
#define RUNNER_SERVE_H

#include "runner/device.h"

/* Runs until the judge closes its end. Returns 0, or -1 if it received an
 * invalid request or could not send the answer. */
int runner_serve(int sock, const struct device_kind *kind);

#endif
