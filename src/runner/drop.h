/* drop.h: what the process of a call gives up before it loads a candidate's
 * library, and before the library's code runs. Neither can be undone. Returns 0,
 * or -1 with errno. */
#ifndef RUNNER_DROP_H
#define RUNNER_DROP_H

/* No new processes or threads, for a user other than root. */
int drop_processes(void);

/* No new processes or threads, no other programs, no new executable memory, no
 * files, no sockets, no waiting, and signals only to itself. Still allowed:
 * memory, the time, and to end. */
int drop_the_rest(void);

#endif
