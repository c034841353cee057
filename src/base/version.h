/* version.h: the version that all three programs print. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define MONKEYS_VERSION "0.1.0"

#endif
