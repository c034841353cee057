/* fleet.h: a simulation of many workers: the clock and the workers are made up, the
 * placement is the real one (src/verify/fleet.c). */
#ifndef BENCH_SIM_FLEET_H
#define BENCH_SIM_FLEET_H

/* bench-sim --workers N …: the exit status. */
int sim_fleet(int argc, char **argv);

#endif
