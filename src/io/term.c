/* term.c: the progress display. Every change of the screen is one write(), so
 * that another process on the same terminal cannot come in between. */
#include "io/term.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tick.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#define DRAW_EVERY_NS  (100 * TICK_MS)
#define LINE_EVERY_NS  (5 * TICK_S)
#define MOST_S         1e9          /* longer times are shown as this */
#define KNOWN_AFTER_NS (1 * TICK_S) /* too short for a meaningful rate */

#define CLEAR     "\r\x1b[K"
#define CLEAR_END "\x1b[K"
#define FAINT     "\x1b[2m"
#define NORMAL    "\x1b[0m"

struct term {
    int fd;
    bool in_place; /* a terminal that can */
    bool colour;
    bool on_screen; /* our line is on the screen */
    bool changed;   /* since it was last shown */
    struct term_state state;
    char *label, *note;
    int64_t start_ns, next_ns;
    struct buf out, words;
};

/* ---- words -------------------------------------------------------------------- */

static void put_rate(struct buf *b, double per_s)
{
    if (per_s >= 10)
        buf_printf(b, " %.0f/s", per_s);
    else if (per_s >= 1)
        buf_printf(b, " %.1f/s", per_s);
    else if (per_s * 60 >= 1)
        buf_printf(b, " %.1f/min", per_s * 60);
    else
        buf_printf(b, " %.1f/h", per_s * 3600);
}

static void put_time(struct buf *b, double seconds)
{
    uint64_t s = (uint64_t)((seconds < MOST_S ? seconds : MOST_S) + 0.5);
    uint64_t m = s / 60, h = m / 60;

    if (s < 60)
        buf_printf(b, "%llus", (unsigned long long)s);
    else if (m < 60)
        buf_printf(b, "%llum%02us", (unsigned long long)m, (unsigned)(s % 60));
    else if (h < 24)
        buf_printf(b, "%lluh%02um", (unsigned long long)h, (unsigned)(m % 60));
    else
        buf_printf(b, "%llud%02uh", (unsigned long long)(h / 24),
                   (unsigned)(h % 24));
}

void term_text(const struct term_state *s, struct buf *out)
{
    double seconds = (double)s->elapsed_ns / (double)TICK_S, rate;

    buf_printf(out, "%s %llu", s->label, (unsigned long long)s->done);
    if (s->total) {
        /* Rounded down: 100% is all of it. */
        double part = (double)s->done / (double)s->total;

        buf_printf(out, "/%llu %d%%", (unsigned long long)s->total,
                   s->done >= s->total ? 100 : (int)(part * 100));
    }
    if (s->done <= s->before || s->elapsed_ns < KNOWN_AFTER_NS)
        return;
    rate = (double)(s->done - s->before) / seconds;
    put_rate(out, rate);
    if (s->total > s->done) {
        buf_putc(out, ' ');
        put_time(out, (double)(s->total - s->done) / rate);
        buf_puts(out, " left");
    } else if (s->total) {
        buf_puts(out, " in ");
        put_time(out, seconds);
    }
}

/* Takes one character off `s`: what to show of it (borrowed), and its width. */
static struct str next_shown(struct str *s, size_t *width)
{
    struct str shown = {s->p, 1};
    uint32_t cp;

    if (str_utf8_check(s->p, s->n < 4 ? s->n : 4) == 0) {
        shown = STR_LIT("?");
        *width = 1;
        s->p++;
        s->n--;
        return shown;
    }
    shown.n = str_utf8_decode(s->p, s->n, &cp);
    s->p += shown.n;
    s->n -= shown.n;
    *width = (size_t)utf8proc_charwidth((utf8proc_int32_t)cp);
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        shown = STR_LIT(" ");
        *width = 1;
        break;
    case UTF8PROC_CATEGORY_CF: /* turns of direction and the like */
        shown.n = 0;
        *width = 0;
        break;
    default:
        break;
    }
    return shown;
}

size_t term_cut(const char *text, size_t columns, struct buf *out)
{
    struct str rest = str_of(text);
    size_t used = 0;

    while (rest.n) {
        size_t width;
        struct str shown = next_shown(&rest, &width);

        if (used + width > columns)
            break;
        buf_put(out, shown.p, shown.n);
        used += width;
    }
    return used;
}

static bool term_is_plain(uint32_t cp)
{
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return cp == '\t';
    default:
        return true;
    }
}

static void quote_line(struct str line, size_t longest, struct buf *out)
{
    size_t left = longest;

    while (line.n) {
        uint32_t cp = (unsigned char)line.p[0];
        bool good = str_utf8_check(line.p, line.n < 4 ? line.n : 4) > 0;
        size_t n = good ? str_utf8_decode(line.p, line.n, &cp) : 1;

        if (n > left) {
            buf_printf(out, "… (%zu more bytes)", line.n);
            return;
        }
        left -= n;
        if (good && term_is_plain(cp))
            buf_put(out, line.p, n);
        else if (!good || cp < 0x80)
            buf_printf(out, "<%02X>", (unsigned)cp);
        else
            buf_printf(out, "<U+%04X>", (unsigned)cp);
        line.p += n;
        line.n -= n;
    }
}

void term_quote(struct str text, size_t longest, struct buf *out)
{
    struct str line;

    while (str_cut(&text, '\n', &line)) {
        quote_line(line, longest, out);
        buf_putc(out, '\n');
    }
    quote_line(text, longest, out);
}

/* ---- the display ---------------------------------------------------------------- */

static size_t term_width_of(int fd)
{
    struct winsize w = {0};

    if (ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
        return 80;
    return w.ws_col;
}

/* If the terminal cannot be queried, we were given it on purpose. */
static bool in_foreground(int fd)
{
    pid_t group = tcgetpgrp(fd);

    return group < 0 || group == getpgrp();
}

static void term_flush(struct term *t)
{
    size_t at = 0;

    while (at < t->out.len) {
        ssize_t n = write(t->fd, t->out.data + at, t->out.len - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    buf_reset(&t->out);
}

/* A note that does not fit loses whole parts, as ", " divides them. */
static void put_note(struct term *t, size_t columns)
{
    size_t from = t->out.len;

    term_cut(t->note, columns, &t->out);
    buf_reset(&t->words);
    if (term_cut(t->note, SIZE_MAX, &t->words) <= columns)
        return;
    for (size_t i = t->out.len; i-- > from + 1;)
        if (t->out.data[i] == ',') {
            t->out.len = i;
            return;
        }
}

static void put_words(struct term *t, int64_t now, size_t columns)
{
    size_t used;

    t->state.elapsed_ns = now - t->start_ns;
    buf_reset(&t->words);
    term_text(&t->state, &t->words);
    used = term_cut(buf_str(&t->words), columns, &t->out);
    if (!t->note[0] || columns - used < 2)
        return;
    if (t->colour)
        buf_puts(&t->out, FAINT);
    buf_putc(&t->out, ' ');
    put_note(t, columns - used - 1);
    if (t->colour)
        buf_puts(&t->out, NORMAL);
}

/* Adds our line to what is about to be written, if this is the place for it. */
static void term_put_line(struct term *t, int64_t now)
{
    t->on_screen = in_foreground(t->fd);
    if (!t->on_screen)
        return;
    buf_putc(&t->out, '\r');
    /* The last column stays free: some terminals wrap as soon as it is used. */
    put_words(t, now, term_width_of(t->fd) - 1);
    buf_puts(&t->out, CLEAR_END);
    t->changed = false;
}

static void put_clear(struct term *t)
{
    if (t->on_screen && in_foreground(t->fd))
        buf_puts(&t->out, CLEAR);
    t->on_screen = false;
}

static void term_show(struct term *t, int64_t now)
{
    if (t->in_place) {
        term_put_line(t, now);
        t->next_ns = now + DRAW_EVERY_NS;
    } else if (t->changed) {
        put_words(t, now, SIZE_MAX);
        buf_putc(&t->out, '\n');
        t->changed = false;
        t->next_ns = now + LINE_EVERY_NS;
    }
    term_flush(t);
}

static void on_log(const char *line, void *arg)
{
    struct term *t = arg;

    if (t->in_place)
        put_clear(t);
    buf_puts(&t->out, line);
    buf_putc(&t->out, '\n');
    if (t->in_place)
        term_put_line(t, tick_now_ns());
    term_flush(t);
}

void term_hide(struct term *t)
{
    if (!t || !t->in_place)
        return;
    put_clear(t);
    t->changed = true;
    t->next_ns = 0;
    term_flush(t);
}

static bool can_redraw(int fd)
{
    const char *kind = secure_getenv("TERM");

    return isatty(fd) && kind && kind[0] && strcmp(kind, "dumb") != 0;
}

struct term *term_open(int fd, uint64_t total, uint64_t done, const char *label)
{
    struct term *t = xcalloc(1, sizeof(*t));
    const char *no_colour = secure_getenv("NO_COLOR");

    t->fd = fd;
    t->in_place = can_redraw(fd);
    t->colour = t->in_place && !(no_colour && no_colour[0]);
    t->label = xstrdup(label);
    t->note = xstrdup("");
    t->state = (struct term_state){
        .label = t->label, .total = total, .done = done, .before = done};
    t->start_ns = tick_now_ns();
    buf_init(&t->out, BUF_UNLIMITED);
    buf_init(&t->words, BUF_UNLIMITED);
    log_set_writer(on_log, t);
    if (t->in_place)
        term_show(t, t->start_ns);
    else
        t->next_ns = t->start_ns + LINE_EVERY_NS;
    return t;
}

void term_tick(struct term *t)
{
    int64_t now = tick_now_ns();

    if (now >= t->next_ns)
        term_show(t, now);
}

void term_set(struct term *t, uint64_t done, const char *note)
{
    t->changed = true;
    t->state.done = done;
    if (note && strcmp(note, t->note) != 0) {
        free(t->note);
        t->note = xstrdup(note);
    }
    term_tick(t);
}

void term_close(struct term *t)
{
    if (!t)
        return;
    log_set_writer(NULL, NULL);
    if (t->in_place) {
        put_clear(t);
        term_flush(t);
    } else {
        term_show(t, tick_now_ns());
    }
    buf_release(&t->out);
    buf_release(&t->words);
    free(t->label);
    free(t->note);
    free(t);
}
