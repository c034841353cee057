/* drop.h: what a runner gives up before it loads a candidate's library, and
 * after. Neither can be undone; both also bind threads that the library
 * started. Returns 0, or -1 with errno. */
#ifndef RUNNER_DROP_H
#define RUNNER_DROP_H

/* No new processes, no other programs. Threads are still allowed. */
int drop_processes(void);

/* No new executable memory, no files, no sockets. Still allowed: computing, the
 * time, threads, and reading and writing open descriptors. */
int drop_the_rest(void);

#endif
