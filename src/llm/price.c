/* price.c: decimal texts to pico-dollars, and these to costs. */
#include "llm/price.h"

#include "base/conf.h"
#include "base/str.h"

#include <string.h>

#define PLACES         6
#define PICO_PER_MICRO ((int64_t)1000000)
#define DEAREST        ((int64_t)100000 * 1000000) /* $100,000 a million */

static bool price_number(struct str text, int64_t *out)
{
    return str_to_fixed(str_trim(text), PLACES, out) && *out <= DEAREST;
}

int price_parse(const char *text, struct price *out, struct err *e)
{
    struct str rest = str_of(text), part[3];
    size_t n = 0;

    while (n < 2 && str_cut(&rest, ',', &part[n]))
        n++;
    part[n++] = rest;
    *out = (struct price){.known = true};
    if (n < 2 || !price_number(part[0], &out->input) ||
        !price_number(part[1], &out->output) ||
        (n == 3 && !price_number(part[2], &out->cached)))
        return err_set(e, ERR_USAGE,
                       "'%s' is not a price: give IN,OUT[,CACHED] in dollars "
                       "per million tokens, such as 2.50,10 (at most %d "
                       "decimal places)",
                       text, PLACES);
    if (n == 2)
        out->cached = out->input;
    out->written = out->input;
    return 0;
}

/* ---- files ---- */

struct reading {
    const char *model;
    char section[128]; /* being read */
    int64_t line[4];   /* input, cached, cache_write, output; -1: not given */
    size_t matched;    /* how well the best section so far matches; 0: none */
    size_t match;      /* the same of the one being read */
    struct price best;
};

static const char *const names[] = {"input", "cached", "cache_write", "output"};

/* 0: not ours; an exact name beats every beginning. */
static size_t price_match(const char *section, const char *model)
{
    size_t n = strlen(section);

    if (strcmp(section, model) == 0)
        return SIZE_MAX;
    if (n && section[n - 1] == '*' && strncmp(section, model, n - 1) == 0)
        return n;
    return 0;
}

/* The section that has just ended. */
static int price_section_end(struct reading *r, struct err *e)
{
    if (!r->section[0])
        return 0;
    if (r->line[0] < 0 || r->line[3] < 0)
        return err_set(e, ERR_INPUT, "[%s] needs input and output", r->section);
    if (r->match > r->matched) {
        r->matched = r->match;
        r->best = (struct price){.known = true,
                                 .input = r->line[0],
                                 .cached = r->line[1],
                                 .written = r->line[2],
                                 .output = r->line[3]};
        if (r->line[1] < 0)
            r->best.cached = r->best.input;
        if (r->line[2] < 0)
            r->best.written = r->best.input;
    }
    return 0;
}

static int price_section(struct reading *r, const char *section, struct err *e)
{
    if (price_section_end(r, e) < 0)
        return -1;
    if (!section[0])
        return err_set(e, ERR_INPUT, "a line before the first [model]");
    if (strlen(section) >= sizeof(r->section))
        return err_set(e, ERR_INPUT,
                       "[%.40s…]: longer than %zu bytes; write the beginning "
                       "and a *",
                       section, sizeof(r->section) - 1);
    snprintf(r->section, sizeof(r->section), "%s", section);
    for (size_t i = 0; i < 4; i++)
        r->line[i] = -1;
    r->match = price_match(section, r->model);
    return 0;
}

static int price_on_line(const char *section, const char *name,
                         const char *value, void *arg, struct err *e)
{
    struct reading *r = arg;

    if ((!section[0] || strcmp(section, r->section) != 0) &&
        price_section(r, section, e) < 0)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        if (r->line[i] < 0 && price_number(str_of(value), &r->line[i]))
            return 0;
        return err_set(e, ERR_INPUT,
                       "[%s] %s = %.40s: not a number of dollars per million "
                       "tokens",
                       section, name, value);
    }
    return err_set(e, ERR_INPUT,
                   "[%s]: unknown line '%.40s'; use input, output, cached, "
                   "cache_write",
                   section, name);
}

int price_read(const char *path, const char *model, struct price *out,
               struct err *e)
{
    struct reading r = {.model = model ? model : ""};

    *out = (struct price){0};
    if (ini_read(path, price_on_line, &r, e) < 0)
        return -1;
    if (price_section_end(&r, e) < 0)
        return err_wrap(e, "%s", path);
    *out = r.best;
    return 0;
}

/* ---- costs ---- */

bool price_is_free(const struct price *p)
{
    return p->known && !p->input && !p->cached && !p->written && !p->output;
}

static int64_t price_product(int64_t tokens, int64_t pico)
{
    int64_t product;

    return __builtin_mul_overflow(tokens, pico, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t to_micro(int64_t pico)
{
    return pico / PICO_PER_MICRO + (pico % PICO_PER_MICRO != 0);
}

struct llm_cost price_of(const struct price *p, const struct llm_usage *u)
{
    int64_t plain = u->input - u->cached - u->written, pico;

    pico = plus(price_product(plain, p->input),
                price_product(u->cached, p->cached));
    pico = plus(pico, price_product(u->written, p->written));
    pico = plus(pico, price_product(u->output, p->output));
    return (struct llm_cost){p->known ? to_micro(pico) : 0,
                             plus(u->input, u->output)};
}

struct llm_cost price_worst(const struct price *p, int64_t input,
                            int64_t output)
{
    int64_t dearest = p->input;

    if (p->cached > dearest)
        dearest = p->cached;
    if (p->written > dearest)
        dearest = p->written;
    return (struct llm_cost){
        p->known ? to_micro(plus(price_product(input, dearest),
                                 price_product(output, p->output)))
                 : 0,
        plus(input, output)};
}
