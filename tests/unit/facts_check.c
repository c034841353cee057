/* facts_check.c: see facts_check.h. */
#include "facts_check.h"

#include "base/arena.h"
#include "base/buf.h"
#include "lex/py_facts.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct view facts, cxx;

static void analyse(const char *source)
{
    static const char *const decorators[] = {"lang.jit", NULL};
    static const char *const openers[] = {"lang.core.Kernel", NULL};
    static const char *const builds[] = {"helper.build", NULL};
    const struct py_facts_config cfg = {decorators, openers, builds};
    struct py_tokens t;

    arena_release(&arena);
    py_lex(&t, str_of(source), &arena);
    py_facts(&facts, &cxx, str_of(source), &t, &cfg, &arena);
}

const char *facts_of(const char *source)
{
    analyse(source);
    return facts.data;
}

const char *cxx_of(const char *source)
{
    analyse(source);
    return cxx.data;
}

static bool origins_sound(const struct view *v, size_t len)
{
    for (size_t i = 0; i < v->len; i++)
        if (v->origin[i] > len)
            return false;
    return true;
}

bool facts_sound(const char *source)
{
    struct str rest, line, context, kind;

    analyse(source);
    rest = (struct str){facts.data, facts.len};
    while (str_cut(&rest, '\n', &line))
        if (!str_cut(&line, ' ', &context) || !str_cut(&line, ' ', &kind) ||
            !context.n || !kind.n || !line.n)
            return false;
    return !rest.n && origins_sound(&facts, strlen(source)) &&
           origins_sound(&cxx, strlen(source));
}

static bool has_line(const char *text, struct str line)
{
    struct str rest = str_of(text), one;

    while (str_cut(&rest, '\n', &one))
        if (str_same(one, line))
            return true;
    return false;
}

/* Whether `wanted` of the lines are in the facts: all, or none. */
static bool lines_are(const char *lines, bool wanted)
{
    struct str rest = str_of(lines), one;
    bool more = lines[0] != '\0';

    while (more) {
        more = str_cut(&rest, '\n', &one);
        if (!more)
            one = rest;
        if (has_line(facts.data, one) != wanted) {
            printf("# %s: %.*s\n", wanted ? "missing" : "too much", (int)one.n,
                   one.p);
            return false;
        }
    }
    return true;
}

static const char before[] = "import torch\n"
                             "import torch.nn as nn\n"
                             "import torch.nn.functional as F\n"
                             "import lang\n"
                             "@lang.jit\n"
                             "def k(p):\n"
                             "    pass\n"
                             "class ModelNew(nn.Module):\n";

static void indent_into(struct buf *b, const char *source)
{
    struct str rest = str_of(source), line;

    while (str_cut(&rest, '\n', &line)) {
        buf_puts(b, "        ");
        buf_put(b, line.p, line.n);
        buf_putc(b, '\n');
    }
    buf_puts(b, "        ");
    buf_put(b, rest.p, rest.n);
    buf_putc(b, '\n');
}

static void place_source(struct buf *b, const char *source,
                         enum facts_place place)
{
    buf_reset(b);
    if (place == PLACE_FILE) {
        buf_puts(b, source);
        return;
    }
    buf_puts(b, before);
    buf_puts(b, "    def __init__(self, n):\n");
    buf_puts(b, "        self.lin = nn.Linear(n, n)\n");
    buf_puts(b, "    def forward(self, x, w):\n");
    indent_into(b, source);
}

void facts_rows(const struct facts_row *rows, size_t count,
                enum facts_place place)
{
    struct buf b;

    buf_init(&b, BUF_UNLIMITED);
    for (size_t i = 0; i < count; i++) {
        bool good;

        place_source(&b, rows[i].source, place);
        analyse(buf_str(&b));
        good = lines_are(rows[i].shows ? rows[i].shows : "", true) &&
               lines_are(rows[i].hides ? rows[i].hides : "", false);
        if (!ok(good, "%s", rows[i].claim))
            printf("# facts of: %s\n%s", rows[i].source, facts.data);
    }
    buf_release(&b);
    arena_release(&arena);
}
