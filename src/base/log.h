/* log.h: messages to the user: whole lines on stderr. A progress display registers
 * itself as the writer, so that messages and the display never mix. Control
 * characters of a message, other than lines and tabs, are shown as <1B>. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO };

void log_set_level(enum log_level level); /* default LOG_INFO */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Lines (without the newline) go to `write` until it is set to NULL. */
void log_set_writer(void (*write)(const char *line, void *arg), void *arg);

#endif
