/* main.c: monkeys-worker, the program that owns the processes of one host. It
 * needs libc alone, so that it can be built where nothing else is installed. */
#include "worker/probe.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: monkeys-worker --probe\n\n"
    "  --probe   try what this machine offers for sandboxes; a line for each:\n"
    "            NAME yes|no DETAIL\n";

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--probe") == 0)
        return probe_print(stdout);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    fputs(usage, stderr);
    return 2;
}
