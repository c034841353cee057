/* drop.h: what a runner gives up before a candidate's library is in it, and once
 * it is. Neither can be taken back; threads that the library started are held to
 * both. 0, or -1 with errno. */
#ifndef RUNNER_DROP_H
#define RUNNER_DROP_H

/* No new process, no other program. Threads are left. */
int drop_processes(void);

/* No new executable memory, no file, no socket: what is left is computing, the
 * time, threads, and reading and writing what is open. */
int drop_the_rest(void);

#endif
