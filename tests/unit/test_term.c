/* test_term.c: the progress display on a real terminal, in the background of
 * one, and on a pipe. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tick.h"
#include "fds.h"
#include "io/term.h"
#include "proc_run.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Only one thread runs here. */
static void set_env(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1); /* NOLINT(concurrency-mt-unsafe) */
    else
        unsetenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

/* ---- words ---- */

static void text_is(struct term_state s, const char *want, const char *what)
{
    struct buf b = {.limit = 200};

    s.label = "tasks";
    term_text(&s, &b);
    is(buf_str(&b), want, what);
    buf_release(&b);
}

static void test_text(void)
{
    text_is((struct term_state){.total = 10}, "tasks 0/10 0%", "at the start");
    text_is((struct term_state){.done = 7}, "tasks 7", "without a total");
    text_is((struct term_state){.total = 200, .done = 199}, "tasks 199/200 99%",
            "nearly all is not all");
    text_is((struct term_state){.total = 100,
                                .done = 30,
                                .elapsed_ns = 10 * TICK_S},
            "tasks 30/100 30% 3.0/s 23s left", "rate and time left");
    text_is(
        (struct term_state){
            .total = 100, .done = 40, .before = 30, .elapsed_ns = 100 * TICK_S},
        "tasks 40/100 40% 6.0/min 10m00s left",
        "what was there before is no speed");
    text_is((struct term_state){.total = 100,
                                .done = 1,
                                .elapsed_ns = 7200 * TICK_S},
            "tasks 1/100 1% 0.5/h 8d06h left", "days");
    text_is((struct term_state){.total = 50,
                                .done = 50,
                                .elapsed_ns = 3700 * TICK_S},
            "tasks 50/50 100% 48.6/h in 1h01m", "all of it, in what time");
    text_is((struct term_state){.total = UINT64_MAX,
                                .done = 1,
                                .elapsed_ns = INT64_MAX / 2},
            "tasks 1/18446744073709551615 0% 0.0/h 11574d01h left",
            "absurd numbers do no harm");
}

static void cut_is(const char *text, size_t columns, const char *want,
                   const char *what)
{
    struct buf b = {.limit = 200};

    term_cut(text, columns, &b);
    is(buf_str(&b), want, what);
    buf_release(&b);
}

static void test_cut(void)
{
    cut_is("abcdef", 4, "abcd", "text is cut to the columns there are");
    cut_is("a\xc3\xa9\xc3\xa9", 2, "a\xc3\xa9", "between characters");
    cut_is("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2",
           "a wide character takes two columns");
    cut_is("e\xcc\x81x", 1, "e\xcc\x81", "an accent none");
    cut_is("a\x1b[2J\r\nb\x7f", 20, "a [2J  b ",
           "control characters are blanks");
    cut_is("a\xe2\x80\xae"
           "b",
           20, "ab", "nothing turns the direction");
    cut_is("a\xff\xc3", 20, "a??", "what is not UTF-8 is a question mark");
}

static void quote_is(struct str text, size_t longest, const char *want,
                     const char *what)
{
    struct buf b = {.limit = 200};

    term_quote(text, longest, &b);
    is(buf_str(&b), want, what);
    buf_release(&b);
}

static void test_quote(void)
{
    quote_is(STR_LIT("a\tb\n\n  \xc3\xa9\n"), 99, "a\tb\n\n  \xc3\xa9\n",
             "untrusted text keeps its lines, tabs and letters");
    quote_is(STR_LIT("\x1b[2Jx\r\n\x07\x7f"), 99, "<1B>[2Jx<0D>\n<07><7F>",
             "control characters are shown");
    quote_is(STR_LIT("a\0b"), 99, "a<00>b", "a NUL, too");
    quote_is(STR_LIT("\xc2\x9b"
                     "31m"),
             99, "<U+009B>31m", "and those above ASCII");
    quote_is(STR_LIT("\xe2\x80\xae\xe2\x81\xa6x\xe2\x80\xa8\xf3\xa0\x80\x81"),
             99, "<U+202E><U+2066>x<U+2028><U+E0001>",
             "turns of direction, line separators and tags, too");
    quote_is(STR_LIT("a\xff\xc3"), 99, "a<FF><C3>",
             "bytes that are not UTF-8, too");
    quote_is(STR_LIT("12345678\nab\n"), 5, "12345… (3 more bytes)\nab\n",
             "a long line is cut, the next is not");
    quote_is(STR_LIT("1234\xc3\xa9"), 5, "1234… (2 more bytes)",
             "between characters");
}

/* ---- a terminal ---- */

struct tty {
    int master, slave;
};

static struct tty tty_open(unsigned short columns)
{
    struct tty t;
    char name[64];
    struct winsize w = {.ws_row = 24, .ws_col = columns};

    t.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (t.master < 0 || grantpt(t.master) < 0 || unlockpt(t.master) < 0 ||
        ptsname_r(t.master, name, sizeof(name)) != 0)
        BUG("no pseudo-terminal: errno %d", errno);
    t.slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (t.slave < 0 || ioctl(t.slave, TIOCSWINSZ, &w) < 0 ||
        fcntl(t.master, F_SETFL, O_NONBLOCK) < 0)
        BUG("no terminal: errno %d", errno);
    return t;
}

static void tty_close(struct tty *t)
{
    close(t->master);
    close(t->slave);
}

/* Appends what can be read now. */
static void read_now(int fd, struct buf *b)
{
    char data[4096];
    ssize_t n;

    while ((n = read(fd, data, sizeof(data))) > 0)
        buf_put(b, data, (size_t)n);
}

/* What a terminal of enough width shows after these bytes. */
static void screen_of(const struct buf *bytes, struct buf *out)
{
    char line[512] = "";
    size_t at = 0;

    for (const char *p = buf_str(bytes); *p; p++) {
        if (strncmp(p, "\x1b[", 2) == 0) {
            if (p[2] == 'K')
                line[at] = '\0';
            p += strcspn(p, "Km");
        } else if (*p == '\r') {
            at = 0;
        } else if (*p == '\n') {
            buf_printf(out, "%s\n", line);
            at = 0;
            line[0] = '\0';
        } else if (at + 1 < sizeof(line)) {
            if (!line[at])
                line[at + 1] = '\0';
            line[at++] = *p;
        }
    }
    buf_puts(out, line);
}

static void screen_is(int master, struct buf *bytes, const char *want,
                      const char *what)
{
    struct buf screen = {.limit = 100000};

    read_now(master, bytes);
    screen_of(bytes, &screen);
    is(buf_str(&screen), want, what);
    buf_release(&screen);
}

static size_t count(const struct buf *b, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == c;
    return n;
}

static void test_terminal(void)
{
    struct tty tty = tty_open(40);
    struct buf bytes = {.limit = 100000};
    struct term *t;

    set_env("TERM", "xterm");
    set_env("NO_COLOR", "1");
    t = term_open(tty.slave, 4, 1, "port");
    screen_is(tty.master, &bytes, "port 1/4 25%", "a terminal shows one line");
    log_warn("first message");
    screen_is(tty.master, &bytes, "first message\nport 1/4 25%",
              "a log line comes above it");
    term_set(t, 1, "L1/3 an explanation that is too long for the line");
    log_warn("second");
    screen_is(tty.master, &bytes,
              "first message\nsecond\n"
              "port 1/4 25% L1/3 an explanation that i",
              "and the note is cut at the last column but one");
    term_set(t, 1, "solved 1/4, 12 attempts, 3 calls");
    log_warn("third");
    screen_is(tty.master, &bytes,
              "first message\nsecond\nthird\n"
              "port 1/4 25% solved 1/4, 12 attempts",
              "… or behind its last part that fits");
    ok(!strstr(buf_str(&bytes), "\x1b[2m"), "NO_COLOR: no colour");
    term_close(t);
    screen_is(tty.master, &bytes, "first message\nsecond\nthird\n",
              "at the end only the log lines are left");
    buf_release(&bytes);
    tty_close(&tty);
}

static void test_redraw_rate(void)
{
    struct tty tty = tty_open(80);
    struct buf bytes = {.limit = 1000000};
    struct term *t;
    int64_t start, elapsed;
    size_t drawn;

    set_env("NO_COLOR", NULL);
    start = tick_now_ns();
    t = term_open(tty.slave, 20000, 0, "port");
    for (uint64_t i = 0; i < 20000; i++) {
        term_set(t, i + 1, "busy");
        read_now(tty.master, &bytes);
    }
    elapsed = tick_now_ns() - start;
    drawn = count(&bytes, '\r');
    ok(drawn >= 1 && (int64_t)drawn <= elapsed / (100 * TICK_MS) + 1,
       "20,000 steps are drawn at most ten times a second");
    log_warn("x");
    read_now(tty.master, &bytes);
    ok(strstr(buf_str(&bytes), "\x1b[2m busy\x1b[0m\x1b[K"),
       "the note is faint");
    buf_reset(&bytes);
    while (!bytes.len && tick_now_ns() < start + 60 * TICK_S) {
        term_tick(t);
        read_now(tty.master, &bytes);
    }
    ok(count(&bytes, '\r') == 1, "time alone draws it again");
    term_close(t);
    buf_release(&bytes);
    tty_close(&tty);
}

/* ---- not a terminal ---- */

static void test_pipe(void)
{
    struct buf bytes = {.limit = 100000};
    struct term *t;
    int64_t start = tick_now_ns();
    int fd[2];

    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
        BUG("pipe2");
    t = term_open(fd[1], 1000, 0, "port");
    for (uint64_t i = 0; i < 1000; i++)
        term_set(t, i + 1, i < 999 ? "busy" : "last");
    log_warn("message");
    term_close(t);
    read_now(fd[0], &bytes);
    ok(!strchr(buf_str(&bytes), '\r') && !strchr(buf_str(&bytes), '\x1b'),
       "a pipe gets plain text");
    ok(strstr(buf_str(&bytes), "message\nport 1000/1000 100%") &&
           strstr(buf_str(&bytes), " last\n"),
       "log lines, and the last state");
    ok((int64_t)count(&bytes, '\n') <=
           2 + (tick_now_ns() - start) / (5 * TICK_S),
       "between them at most a line every five seconds");
    buf_reset(&bytes);
    t = term_open(fd[1], 1000, 0, "port");
    term_close(t);
    read_now(fd[0], &bytes);
    is(buf_str(&bytes), "", "nothing done, nothing said");
    buf_release(&bytes);
    close(fd[0]);
    close(fd[1]);
}

static void test_dumb(void)
{
    struct tty tty = tty_open(80);
    struct buf bytes = {.limit = 100000};
    struct term *t;

    set_env("TERM", "dumb");
    t = term_open(tty.slave, 2, 0, "port");
    term_set(t, 1, NULL);
    term_close(t);
    read_now(tty.master, &bytes);
    is(buf_str(&bytes), "port 1/2 50%\r\n", "a dumb terminal gets plain lines");
    buf_release(&bytes);
    tty_close(&tty);
}

/* ---- the foreground ----
 * A session with a terminal of its own is needed: a Python script makes one and
 * runs this suite again, in the foreground or in the background of it. */

static const char session[] =
    "import os, pty, sys\n"
    "pid, fd = pty.fork()\n"
    "if pid == 0:\n"
    "    inner = os.fork()\n"
    "    if inner == 0:\n"
    "        if sys.argv[2] == 'background':\n"
    "            os.setpgid(0, 0)\n"
    "        os.dup2(os.open('/dev/null', os.O_WRONLY), 1)\n"
    "        os.execv(sys.argv[1], [sys.argv[1], 'term'])\n"
    "    os.waitpid(inner, 0)\n"
    "    os._exit(0)\n"
    "try:\n"
    "    while True:\n"
    "        sys.stdout.buffer.write(os.read(fd, 4096))\n"
    "except OSError:\n"
    "    pass\n"
    "os.waitpid(pid, 0)\n";

static void as_child(void)
{
    struct term *t = term_open(STDERR_FILENO, 2, 0, "port");

    log_warn("message");
    term_set(t, 1, NULL);
    term_close(t);
}

static void run_in_session(const char *ground, struct proc_result *r)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    struct proc_opts o = {
        .argv = (const char *const[]){"/usr/bin/python3", "-c", session, self,
                                      ground, NULL},
        .env = (const char *const[]){"TERM=xterm", "NO_COLOR=1",
                                     "ASAN_OPTIONS=detect_leaks=0",
                                     "TERM_TEST_CHILD=1", NULL},
        .out_limit = 100000,
        .err_limit = 100000,
        .timeout_ns = 60 * TICK_S,
    };
    struct err e = ERR_INIT;

    self[n < 0 ? 0 : n] = '\0';
    if (proc_run(&o, r, &e) < 0)
        BUG("%s", e.text);
    if (r->err.len)
        printf("# %s\n", buf_str(&r->err));
}

static void test_grounds(void)
{
    struct proc_result r;

    run_in_session("foreground", &r);
    ok(strncmp(buf_str(&r.out), "\rport 0/2 0%", 12) == 0,
       "the foreground job draws on its terminal");
    proc_result_release(&r);
    run_in_session("background", &r);
    is(buf_str(&r.out), "message\r\n", "the background job does not");
    proc_result_release(&r);
}

SUITE(term)
{
    size_t before = fds_open();

    if (secure_getenv("TERM_TEST_CHILD")) {
        as_child();
        return;
    }
    test_text();
    test_cut();
    test_quote();
    test_terminal();
    test_redraw_rate();
    test_pipe();
    test_dumb();
    test_grounds();
    ok(before > 0 && fds_open() == before, "no descriptor is left open");
}
