/* test_log.c: what reaches the writer of messages. */
#include "base/log.h"
#include "tap.h"

#include <stdio.h>

static void keep(const char *line, void *arg)
{
    snprintf(arg, 100, "%s", line);
}

SUITE(log)
{
    char got[100] = "";

    log_set_writer(keep, got);
    log_warn("%s: two\nlines,\ta tab, \xc2\xb5s", "plain");
    is(got, "plain: two\nlines,\ta tab, \xc2\xb5s", "text stays");
    log_warn("run %s: gone", "odd\033[31m\r\x7f");
    is(got, "run odd<1B>[31m<0D><7F>: gone",
       "a name cannot control the terminal");
    log_info("%s", "\xc2\x9b"
                   "2J");
    is(got, "<U+009B>2J", "… nor with the controls of Latin-1");
    log_warn("%s", "cut \xc2");
    is(got, "cut \xc2", "… and half a character is no end of the world");
    log_set_writer(NULL, NULL);
}
