/* log.c: one line at a time to stderr. */
#include "base/log.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
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

/* A control character of ASCII, or one that UTF-8 writes as C2 80 to C2 9F. */
static bool log_is_control(const unsigned char *p)
{
    return (p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f ||
           (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0);
}

/* Names and words of others must not control the terminal. term_quote() of
 * io/term.h does more, with a library that not every program has. */
static void quote(const char *line, struct buf *out)
{
    for (const unsigned char *p = (const unsigned char *)line; *p; p++) {
        if (!log_is_control(p))
            buf_putc(out, (char)*p);
        else if (*p != 0xc2)
            buf_printf(out, "<%02X>", *p);
        else
            buf_printf(out, "<U+%04X>", *++p);
    }
}

static void __attribute__((format(printf, 2, 0)))
put(enum log_level level, const char *fmt, va_list ap)
{
    char line[2048];
    struct buf shown = BUF_INIT;

    if (level > state.level)
        return;
    vsnprintf(line, sizeof(line), fmt, ap);
    quote(line, &shown);
    if (state.write)
        state.write(buf_str(&shown), state.arg);
    else
        fprintf(stderr, "%s\n", buf_str(&shown));
    buf_release(&shown);
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
