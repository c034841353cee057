/* log.c: one line at a time to stderr. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static struct {
    enum log_level level;
    void (*write)(const char *line, void *arg);
    void *arg;
} state = {LOG_INFO, NULL, NULL};

void log_set_level(enum log_level level)
{
    state.level = level;
}

void log_set_writer(void (*write)(const char *line, void *arg), void *arg)
{
    state.write = write;
    state.arg = arg;
}

static void __attribute__((format(printf, 2, 0)))
put(enum log_level level, const char *fmt, va_list ap)
{
    char line[2048];

    if (level > state.level)
        return;
    vsnprintf(line, sizeof(line), fmt, ap);
    if (state.write)
        state.write(line, state.arg);
    else
        fprintf(stderr, "%s\n", line);
}

void log_warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(LOG_WARN, fmt, ap);
    va_end(ap);
}

void log_info(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(LOG_INFO, fmt, ap);
    va_end(ap);
}
