/* main.c: finds the command, runs it, and is the only one to print a failure
 * and to choose the exit status. */
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "io/term.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Its text may hold names of files and words of others. */
static void report(const struct cmd *c, const struct err *e)
{
    struct buf b = BUF_INIT;

    term_quote(str_of(e->text), SIZE_MAX, &b);
    fprintf(stderr, "monkeys%s%s: %s\n", c ? " " : "", c ? c->name : "",
            buf_str(&b));
    buf_release(&b);
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    char word[] = "help", *help[] = {argv[0], word, argv[1], NULL};
    const struct cmd *c;
    int words, rc;

    /* A reader that goes away is an error of write(), not a death. */
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2 || is_help(argv[1])) {
        argv = help;
        argc = 2;
    } else if (strcmp(argv[1], "--version") == 0) {
        argv = help;
        argc = 3;
    }
    c = cmd_find(argc - 1, argv + 1, &words, &e);
    /* Of several commands, such as 'archive'. */
    if (!c && argc == 3 && is_help(argv[2])) {
        e = (struct err)ERR_INIT;
        argv = help;
        c = cmd_find(argc - 1, argv + 1, &words, &e);
    }
    rc = c ? cmd_execute(c, argc - words, argv + words, &e) : -1;
    cmd_flush();
    /* One that has read enough is no failure. */
    errno = cmd_output_errno;
    if (rc >= 0 && errno && errno != EPIPE)
        rc = err_sys(&e, "standard output");
    if (rc < 0) {
        report(c, &e);
        return err_exit_status(&e);
    }
    return rc;
}
