/* guide.c: readers and their turns, what a reader may ask for, what it finds in its
 * documents without a call, and what a finished guide is checked for.
 *
 * What a reader sees must follow from the documents and from earlier replies alone:
 * then a build that was stopped asks the same questions again, and finds the answers
 * in the store. So nothing here depends on time, on the order in which readers end,
 * or on what a call did cost. */
#include "prompt/guide.h"

#include "base/fs.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "pack/rx.h"
#include "prompt/ask.h"
#include "prompt/extract.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- the documents: read once. Its path inside the folder identifies one; places in it
 * are lines, counted from 1 ---- */

struct heading {
    size_t line;
    int level; /* 1: the highest */
    struct str text;
};

struct source {
    const char *name;
    struct str text;
    size_t
        *line_at; /* where line i + 1 begins; one more than there are lines */
    size_t lines;
    struct heading *heading;
    size_t headings, heading_cap;
};

/* Whole lines of one document. */
struct span {
    size_t source, from, to;
};

#define DEPTH      16
#define FILE_BYTES ((size_t)8 << 20)
#define ALL_BYTES  ((size_t)64 << 20)
#define LEVELS     6

static void source_add_heading(struct source *x, size_t line, int level,
                               struct str text)
{
    x->heading =
        xgrow(x->heading, &x->heading_cap, x->headings, sizeof(*x->heading));
    x->heading[x->headings++] = (struct heading){line, level, text};
}

static struct str source_line(const struct source *x, size_t line)
{
    size_t from = x->line_at[line - 1], to = x->line_at[line];
    struct str s = {x->text.p + from, to - from};

    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* "## Title" of Markdown. */
static int heading_hash(struct str line)
{
    size_t n = 0;

    while (n < line.n && line.p[n] == '#')
        n++;
    return n && n <= LEVELS && n < line.n && line.p[n] == ' ' ? (int)n : 0;
}

/* A line below a title, of one character: "=====". */
static int heading_rule(struct str line, struct str above)
{
    static const char marks[] = "=-~^\"";
    const char *mark = line.n ? strchr(marks, line.p[0]) : NULL;

    if (!mark || !*mark || line.n < 3 || !str_trim(above).n ||
        line.n < str_trim(above).n)
        return 0;
    for (size_t i = 1; i < line.n; i++)
        if (line.p[i] != line.p[0])
            return 0;
    return (int)(mark - marks) + 1;
}

/* What a program defines counts as a heading, too. */
static int heading_code(struct str line)
{
    if (str_starts(line, "class ") || str_starts(line, "struct ") ||
        str_starts(line, "namespace "))
        return 3;
    if (str_starts(line, "def ") || str_starts(line, "@"))
        return 4;
    if (str_starts(line, "    def "))
        return 5;
    return 0;
}

static void source_find_headings(struct source *x)
{
    bool fenced = false;

    for (size_t i = 1; i <= x->lines; i++) {
        struct str line = source_line(x, i);
        int level;

        if (str_starts(str_trim(line), "```"))
            fenced = !fenced;
        if (fenced)
            continue;
        level = heading_hash(line);
        if (!level)
            level = heading_code(line);
        if (level)
            source_add_heading(x, i, level, str_trim(line));
        else if (i > 1 && (level = heading_rule(line, source_line(x, i - 1))))
            source_add_heading(x, i - 1, level,
                               str_trim(source_line(x, i - 1)));
    }
}

static void source_find_lines(struct source *x, struct arena *a)
{
    size_t lines = 1, at = 0;

    for (size_t i = 0; i + 1 < x->text.n; i++)
        lines += x->text.p[i] == '\n';
    x->lines = lines;
    x->line_at = arena_alloc(a, (lines + 1) * sizeof(*x->line_at));
    for (size_t i = 0; i + 1 < x->text.n; i++)
        if (x->text.p[i] == '\n')
            x->line_at[++at] = i + 1;
    x->line_at[lines] = x->text.n;
}

static int sources_add_file(struct sources *s, const char *path,
                            const char *name, struct err *e)
{
    struct source *x;
    struct buf b = {.limit = FILE_BYTES};
    int rc;

    rc = fs_read(path, &b, e);
    if (rc < 0 && e->kind == ERR_LIMIT) {
        log_warn("%s: skipped: longer than %zu bytes", path, FILE_BYTES);
        rc = 0;
    } else if (rc == 0 && b.len && !memchr(b.data, 0, b.len) &&
               str_utf8_check(b.data, b.len) == b.len) {
        s->item = xgrow(s->item, &s->cap, s->len, sizeof(*s->item));
        x = &s->item[s->len++];
        *x = (struct source){.name = arena_strdup(&s->memory, name)};
        x->text = arena_str(&s->memory, buf_view(&b));
        s->bytes += b.len;
        source_find_lines(x, &s->memory);
        source_find_headings(x);
    }
    buf_release(&b);
    if (rc == 0 && s->bytes > ALL_BYTES)
        return err_set(e, ERR_INPUT,
                       "more than %zu MiB of documents; name a smaller folder",
                       ALL_BYTES >> 20);
    return rc;
}

static int sources_add_folder(struct sources *s, const char *dir,
                              const char *prefix, int depth, struct err *e)
{
    struct fs_names names = {0};
    int rc = fs_list(dir, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        char *path = fs_join(dir, names.name[i]);
        char *name =
            xasprintf("%s%s%s", prefix, prefix[0] ? "/" : "", names.name[i]);

        if (names.name[i][0] == '.')
            ;
        else if (fs_is_dir(path))
            rc = depth ? sources_add_folder(s, path, name, depth - 1, e) : 0;
        else if (fs_is_file(path))
            rc = sources_add_file(s, path, name, e);
        free(path);
        free(name);
    }
    fs_names_release(&names);
    return rc;
}

int sources_read(struct sources *s, const char *dir, struct err *e)
{
    *s = (struct sources){0};
    if (sources_add_folder(s, dir, "", DEPTH, e) < 0)
        return -1;
    if (s->len == 0)
        return err_set(e, ERR_INPUT,
                       "%s: no document; put the language's documentation "
                       "there, as text files",
                       dir);
    return 0;
}

void sources_release(struct sources *s)
{
    for (size_t i = 0; i < s->len; i++)
        free(s->item[i].heading);
    free(s->item);
    arena_release(&s->memory);
}

static const struct source *sources_find(const struct sources *s,
                                         const char *name)
{
    for (size_t i = 0; i < s->len; i++)
        if (strcmp(s->item[i].name, name) == 0)
            return &s->item[i];
    return NULL;
}

static struct span sources_whole(const struct sources *s, size_t source)
{
    return (struct span){source, 1, s->item[source].lines};
}

static struct str sources_text(const struct sources *s, struct span x)
{
    const struct source *doc = &s->item[x.source];
    size_t from = doc->line_at[x.from - 1], to = doc->line_at[x.to];

    return (struct str){doc->text.p + from, to - from};
}

static void sources_put(const struct sources *s, struct span x, int levels,
                        struct buf *out)
{
    const struct source *doc = &s->item[x.source];

    buf_printf(out, "%s: lines %zu to %zu, about %lld tokens\n", doc->name,
               x.from, x.to,
               (long long)llm_estimate_tokens(sources_text(s, x)));
    for (size_t i = 0; i < doc->headings; i++) {
        const struct heading *h = &doc->heading[i];

        if (h->level <= levels && h->line >= x.from && h->line <= x.to)
            buf_printf(out, "%*s%zu: %.*s\n", 2 * h->level, "", h->line,
                       (int)(h->text.n < 120 ? h->text.n : 120), h->text.p);
    }
}

/* Names, sizes and headings, in at most about `tokens` tokens: the deepest headings are left
 * out first. `only` NULL: of all documents. */
static void sources_manifest(const struct sources *s, const struct span *only,
                             int64_t tokens, struct buf *out)
{
    size_t before = out->len;

    for (int levels = LEVELS; levels >= 0; levels--) {
        struct str made;

        out->len = before;
        if (only)
            sources_put(s, *only, levels, out);
        for (size_t i = 0; !only && i < s->len; i++)
            sources_put(s, sources_whole(s, i), levels, out);
        made = (struct str){buf_str(out) + before, out->len - before};
        if (llm_estimate_tokens(made) <= tokens)
            return;
    }
    /* Even the names are too many: as many as fit. */
    while (out->len > before &&
           llm_estimate_tokens(
               (struct str){buf_str(out) + before, out->len - before}) > tokens)
        out->len = before + (out->len - before) * 3 / 4;
    while (out->len > before && out->data[out->len - 1] != '\n')
        out->len--;
    buf_puts(out, "(more documents: use grep)\n");
}

/* ---- what a model asks for: a JSON object in its reply, or a list of them. A reply
 * is foreign text. ---- */

enum action_kind {
    ACTION_LIST,  /* the manifest of a document */
    ACTION_PEEK,  /* some lines */
    ACTION_GREP,  /* the lines that a pattern matches */
    ACTION_ASK,   /* a question about a span, for a reader of its own */
    ACTION_FINAL, /* the answer */
};
/* Borrowed from the list. */
struct action {
    enum action_kind kind;
    const char *document; /* "" where it names none */
    size_t from, to;      /* lines; 0: not said */
    const char *text;     /* the pattern, the question, the answer */
};

#define ACTIONS 16 /* in one reply */

struct actions {
    struct action item[ACTIONS];
    size_t len;
    json_t *json; /* owns the texts, */
    char *plain;  /* or this does */
};

static const char *const action_names[5] = {"list", "peek", "grep", "ask",
                                            "final"};

/* What each kind must say. */
static const struct {
    bool document;
    const char *text; /* the member that holds its text, or NULL */
} action_needs[5] = {
    [ACTION_LIST] = {true, NULL},       [ACTION_PEEK] = {true, NULL},
    [ACTION_GREP] = {false, "pattern"}, [ACTION_ASK] = {true, "question"},
    [ACTION_FINAL] = {false, "answer"},
};

static size_t action_line(const json_t *v, const char *key)
{
    json_int_t n = jsn_int(v, key);

    return n > 0 && n < 1000000000 ? (size_t)n : 0;
}

static int action_read(const json_t *v, struct action *out, struct err *e)
{
    const char *name = jsn_str(v, "do");
    size_t kind = 0;

    while (kind < 5 && strcmp(action_names[kind], name) != 0)
        kind++;
    if (kind == 5)
        return err_set(e, ERR_INPUT,
                       "\"do\" must be list, peek, grep, ask or final");
    *out = (struct action){.kind = (enum action_kind)kind,
                           .document = jsn_str(v, "document"),
                           .from = action_line(v, "from"),
                           .to = action_line(v, "to"),
                           .text = ""};
    if (action_needs[kind].text)
        out->text = jsn_str(v, action_needs[kind].text);
    if (action_needs[kind].document && !out->document[0])
        return err_set(e, ERR_INPUT,
                       "%s needs \"document\": a name from the "
                       "manifest",
                       name);
    if (action_needs[kind].text && !out->text[0])
        return err_set(e, ERR_INPUT, "%s needs \"%s\"", name,
                       action_needs[kind].text);
    return 0;
}

static bool action_read_plain(struct str reply, struct actions *out)
{
    struct str rest = str_trim(reply), head;

    if (!str_cut(&rest, '\n', &head) || !str_eq(str_trim(head), "FINAL"))
        return false;
    rest = str_trim(rest);
    if (!rest.n)
        return false;
    out->plain = xstrndup(rest.p, rest.n);
    out->item[0] = (struct action){
        .kind = ACTION_FINAL, .document = "", .text = out->plain};
    out->len = 1;
    return true;
}

/* -1 with an error that the model can act on. Release in any case. A final
 * action stands alone; a long answer may follow the line FINAL as plain text
 * instead. */
static int actions_read(struct str reply, struct actions *out, struct err *e)
{
    const json_t *list;
    size_t n;

    *out = (struct actions){0};
    if (action_read_plain(reply, out))
        return 0;
    out->json = extract_json(reply, e);
    if (!out->json)
        return -1;
    list = json_is_array(out->json) ? out->json
                                    : json_object_get(out->json, "actions");
    n = list ? json_array_size(list) : 1;
    if (n == 0 || n > ACTIONS)
        return err_set(e, ERR_INPUT, "a reply has 1 to %d actions", ACTIONS);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = list ? json_array_get(list, i) : out->json;

        if (action_read(v, &out->item[i], e) < 0)
            return -1;
        out->len++;
    }
    for (size_t i = 0; i < n; i++)
        if (n > 1 && out->item[i].kind == ACTION_FINAL)
            return err_set(e, ERR_INPUT, "a final action stands alone");
    return 0;
}

static void actions_release(struct actions *a)
{
    if (a->json)
        json_decref(a->json);
    free(a->plain);
    *a = (struct actions){0};
}

/* ---- list, peek and grep: what a reader finds without a call ---- */

#define PEEK_LINES 200 /* where no end is said */

struct looking {
    const struct sources *sources;
    const struct span *only; /* what the reader may see; NULL: everything */
    int64_t tokens;          /* of one result, about */
};

static bool looking_document(const struct looking *l, const char *name,
                             struct span *out)
{
    const struct source *doc = sources_find(l->sources, name);
    size_t i;

    if (!doc)
        return false;
    i = (size_t)(doc - l->sources->item);
    if (l->only && l->only->source != i)
        return false;
    *out = l->only ? *l->only : sources_whole(l->sources, i);
    return true;
}

/* The lines that an action names, cut to what the reader may see; false when
 * there are none. */
static bool looking_span(const struct looking *l, const struct action *a,
                         struct span *out)
{
    if (!looking_document(l, a->document, out))
        return false;
    if (a->from > out->from)
        out->from = a->from;
    if (a->to && a->to < out->to)
        out->to = a->to;
    return out->from <= out->to;
}

static struct str looking_line(const struct sources *s, size_t source,
                               size_t line)
{
    struct str x = sources_text(s, (struct span){source, line, line});

    while (x.n && (x.p[x.n - 1] == '\n' || x.p[x.n - 1] == '\r'))
        x.n--;
    return x;
}

/* False: it does not fit any more. */
static bool looking_put(const struct looking *l, size_t source, size_t line,
                        bool named, int64_t *tokens, struct buf *out)
{
    struct str x = looking_line(l->sources, source, line);

    if (x.n > 2000)
        x.n = 2000;
    *tokens -= llm_estimate_tokens(x) + 4;
    if (*tokens < 0)
        return false;
    if (named)
        buf_printf(out, "%s:", l->sources->item[source].name);
    buf_printf(out, "%zu: %.*s\n", line, (int)x.n, x.p);
    return true;
}

static void looking_peek(const struct looking *l, struct span x,
                         struct buf *out)
{
    int64_t tokens = l->tokens;

    for (size_t i = x.from; i <= x.to; i++)
        if (!looking_put(l, x.source, i, false, &tokens, out)) {
            buf_printf(out, "(cut; go on from line %zu)\n", i);
            return;
        }
}

/* Lines of one document that match; false: no room or no time is left. */
static bool looking_grep_in(const struct looking *l, struct span x,
                            const struct rx *rx, struct rx_ctx *c,
                            int64_t *tokens, struct buf *out)
{
    struct str text = sources_text(l->sources, x);
    size_t line = x.from, at = 0, from = 0;

    while (from < text.n) {
        enum rx_result found = rx_find(c, rx, text, from);

        if (found == RX_NONE)
            return true;
        if (found != RX_MATCH) {
            buf_puts(out, "(the pattern takes too long)\n");
            return false;
        }
        for (; at < rx_at(c); at++)
            line += text.p[at] == '\n';
        if (!looking_put(l, x.source, line, true, tokens, out)) {
            buf_puts(out, "(cut; narrow the pattern or name a document)\n");
            return false;
        }
        while (from < text.n && (from <= rx_at(c) || text.p[from - 1] != '\n'))
            from++;
    }
    return true;
}

static void looking_grep(const struct looking *l, const struct action *a,
                         struct buf *out)
{
    struct err e = ERR_INIT;
    struct rx *rx = rx_new(a->text, &e);
    struct rx_ctx *c;
    int64_t tokens = l->tokens;
    size_t before = out->len;
    bool more = true;

    if (!rx) {
        buf_printf(out, "the pattern is wrong: %s\n", e.text);
        return;
    }
    c = rx_ctx_new(&rx_limits_default);
    for (size_t i = 0; more && i < l->sources->len; i++) {
        struct span x = sources_whole(l->sources, i);

        if (a->document[0] &&
            strcmp(a->document, l->sources->item[i].name) != 0)
            continue;
        if (l->only && l->only->source != i)
            continue;
        rx_round(c);
        more = looking_grep_in(l, l->only ? *l->only : x, rx, c, &tokens, out);
    }
    if (out->len == before)
        buf_puts(out, "no line matches\n");
    rx_ctx_free(c);
    rx_free(rx);
}

/* Appends the result, or why there is none. Its first line says what was asked.
 * An ACTION_ASK comes here only when its span does not exist. */
static void looking_do(const struct looking *l, const struct action *a,
                       struct buf *out)
{
    struct span x;

    buf_printf(out, "%s %s", action_names[a->kind],
               a->kind == ACTION_GREP ? a->text : a->document);
    if (a->from || a->to)
        buf_printf(out, " from %zu to %zu", a->from, a->to);
    buf_puts(out, ":\n");
    if (a->kind == ACTION_GREP) {
        looking_grep(l, a, out);
    } else if (!looking_span(l, a, &x)) {
        buf_puts(out, "there is no such document, or it has no such lines; the "
                      "manifest has the names\n");
    } else if (a->kind == ACTION_LIST) {
        sources_manifest(l->sources, &x, l->tokens, out);
    } else {
        if (!a->to && x.to - x.from >= PEEK_LINES)
            x.to = x.from + PEEK_LINES - 1;
        looking_peek(l, x, out);
    }
}

/* ---- what a finished guide is checked for ---- */

#define NAMES 40 /* that are reported */

static const char *const layout_headings[] = {"Core Philosophy", "Thinking in",
                                              "Recognizing Patterns"};

static bool layout_has_heading(struct str guide, const char *text)
{
    struct str line;

    while (str_cut(&guide, '\n', &line) || guide.n) {
        if (!line.n && guide.n && !memchr(guide.p, '\n', guide.n)) {
            line = guide;
            guide.n = 0;
        }
        if (str_starts(line, "## ") &&
            memmem(line.p, line.n, text, strlen(text)))
            return true;
    }
    return false;
}

static int64_t layout_words(struct str s)
{
    int64_t n = 0;
    bool inside = false;

    for (size_t i = 0; i < s.n; i++) {
        bool space = isspace((unsigned char)s.p[i]) != 0;

        n += !space && !inside;
        inside = !space;
    }
    return n;
}

static bool layout_in_sources(const struct sources *s, struct str name)
{
    for (size_t i = 0; i < s->len; i++)
        if (memmem(s->item[i].text.p, s->item[i].text.n, name.p, name.n))
            return true;
    return false;
}

static bool layout_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

/* `T.copy(a, b)` names T.copy; `M x N` and `0` name nothing. */
static struct str layout_name(struct str code)
{
    size_t n = 0;

    while (n < code.n && layout_is_word(code.p[n]))
        n++;
    while (n && (code.p[n - 1] == '.' || code.p[n - 1] == ':'))
        n--;
    if (n < 3 || isdigit((unsigned char)code.p[0]))
        n = 0;
    return (struct str){code.p, n};
}

static size_t layout_names(struct str guide, const struct sources *s,
                           struct buf *out)
{
    struct map seen = {0};
    size_t found = 0;
    struct str part;
    bool inside = false;

    while (str_cut(&guide, '`', &part)) {
        struct str name =
            inside ? layout_name(str_trim(part)) : (struct str){0};

        inside = !inside;
        if (!name.n || map_get(&seen, name))
            continue;
        map_set(&seen, name, &seen);
        if (layout_in_sources(s, name))
            continue;
        if (found++ < NAMES)
            buf_printf(out, "`%.*s` occurs in none of the documents\n",
                       (int)name.n, name.p);
    }
    map_release(&seen);
    return found;
}

/* One line for each finding is appended to `out`: a heading of the layout that
 * is missing, a length outside of half to twice `words`, and a name in
 * backticks that occurs in no source. Returns how many there are. */
static size_t layout_check(struct str guide, const struct sources *s,
                           int64_t words, struct buf *out)
{
    size_t found = 0;
    int64_t n = layout_words(guide);

    for (size_t i = 0; i < sizeof(layout_headings) / sizeof(layout_headings[0]);
         i++)
        if (!layout_has_heading(guide, layout_headings[i])) {
            buf_printf(out, "the heading \"## %s%s\" is missing\n",
                       layout_headings[i], i == 1 ? " …" : "");
            found++;
        }
    if (n < words / 2 || n > words * 2) {
        buf_printf(out, "%lld words, where about %lld are wanted\n",
                   (long long)n, (long long)words);
        found++;
    }
    return found + layout_names(guide, s, out);
}

/* ---- readers ---- */

#define TURNS        24   /* of one reader */
#define REPAIRS      2    /* of a guide with findings */
#define LEAST_WINDOW 2000 /* tokens */

/* One action of a turn and what came of it, as the next prompts show it. */
struct step {
    struct buf text;
};

struct turn {
    struct step step[ACTIONS];
    size_t len;
};

struct reader {
    struct guide *g;
    struct reader *above; /* NULL: the first */
    struct step *answer;  /* of `above`: where its answer goes */
    char *path;       /* "1.3.2": the second below the third below the first */
    struct span span; /* of `above` readers: what it may read */
    char *question;
    int64_t window, depth;
    struct turn turn[TURNS];
    size_t turns, children;
    struct ask_group below; /* those that it has asked in this turn */
    bool last;              /* its last turn: it must answer */
    char *said;             /* its answer */
    char *silent;           /* why there is none */
    struct arena memory;    /* of its prompt */
    struct prompt prompt;
};

struct guide {
    struct guide_parts part;
    struct guide_opts opt;
    struct ask_all ask;
    int repairs;
    struct buf text, findings;
};

/* ---- readers ---- */

static struct reader *reader_new(struct guide *g, struct reader *above,
                                 struct step *answer, struct span span,
                                 const char *question)
{
    struct reader *r = xcalloc(1, sizeof(*r));

    *r = (struct reader){.g = g,
                         .above = above,
                         .answer = answer,
                         .span = span,
                         .question = question ? xstrdup(question) : NULL,
                         .window = g->opt.window,
                         .depth = g->opt.depth};
    if (above) {
        r->window = above->window / 2;
        r->depth = above->depth - 1;
        r->path = xasprintf("%s.%zu", above->path, ++above->children);
    } else {
        r->path = xstrdup("1");
    }
    return r;
}

static void reader_free(struct reader *r)
{
    for (size_t i = 0; i < r->turns; i++)
        for (size_t j = 0; j < r->turn[i].len; j++)
            buf_release(&r->turn[i].step[j].text);
    arena_release(&r->memory);
    free(r->question);
    free(r->path);
    free(r->said);
    free(r->silent);
    free(r);
}

/* Every open reader can still answer with a call of its own. */
static size_t guide_calls(const struct guide *g)
{
    return g->ask.progress.questions + g->ask.progress.open;
}

/* ---- a prompt that fits ---- */

static struct str reader_first_line(struct str s)
{
    struct str head;

    return str_cut(&s, '\n', &head) ? head : s;
}

/* What the turns so far gave, the latest whole, those before only as long as
 * there is room. */
static struct str reader_history(struct reader *r, int64_t tokens)
{
    struct str *part =
        arena_alloc(&r->memory, (r->turns * ACTIONS + 1) * sizeof(*part));
    size_t n = 0;
    struct buf b = BUF_INIT;

    for (size_t i = r->turns; i-- > 0;)
        for (size_t j = r->turn[i].len; j-- > 0;) {
            const struct buf *t = &r->turn[i].step[j].text;
            struct str whole = buf_view(t);

            if (llm_estimate_tokens(whole) > tokens)
                whole = reader_first_line(whole);
            tokens -= llm_estimate_tokens(whole) + 1;
            if (tokens < 0)
                break;
            part[n++] = whole;
        }
    while (n-- > 0)
        buf_printf(&b, "%.*s\n", (int)part[n].n, part[n].p);
    return buf_keep(&b, &r->memory);
}

/* The documents, or the span itself where it takes half the window at most. */
static struct str reader_contents(struct reader *r, bool *whole)
{
    const struct sources *s = r->g->part.sources;
    struct buf b = BUF_INIT;

    *whole = r->above &&
             llm_estimate_tokens(sources_text(s, r->span)) <= r->window / 2;
    if (*whole)
        return sources_text(s, r->span);
    sources_manifest(s, r->above ? &r->span : NULL, r->window / 4, &b);
    return buf_keep(&b, &r->memory);
}

static void reader_prompt(struct reader *r)
{
    const struct guide *g = r->g;
    struct prompt_guide in = {.dsl = g->opt.name,
                              .words = g->opt.words,
                              .question = r->question,
                              .may_ask =
                                  r->depth > 0 && r->window / 2 >= LEAST_WINDOW,
                              .last = r->last};
    int64_t room;

    arena_reset(&r->memory);
    in.contents = reader_contents(r, &in.whole);
    prompts_guide(g->part.prompts, &in, &r->memory, &r->prompt);
    room = r->window - r->prompt.tokens;
    in.history = reader_history(r, room > 0 ? room * 9 / 10 : 0);
    prompts_guide(g->part.prompts, &in, &r->memory, &r->prompt);
}

/* ---- turns ---- */

static struct step *reader_step(struct reader *r)
{
    struct turn *t = &r->turn[r->turns - 1];
    struct step *x = &t->step[t->len++];

    buf_init(&x->text, BUF_UNLIMITED);
    return x;
}

static void reader_note(struct reader *r, const char *text)
{
    r->turns++;
    buf_puts(&reader_step(r)->text, text);
}

static ask_fn reader_below;

/* Its answer will follow in the same step. */
static void reader_ask_below(struct reader *r, const struct action *a,
                             struct span span)
{
    struct step *x = reader_step(r);
    struct guide *g = r->g;

    buf_printf(&x->text, "Question about %s, lines %zu to %zu: %s\n",
               a->document, span.from, span.to, a->text);
    if (r->depth <= 0 || r->window / 2 < LEAST_WINDOW)
        buf_puts(&x->text, "No reader is left for it: peek instead.\n");
    else if (guide_calls(g) + 1 > (size_t)g->opt.calls)
        buf_puts(&x->text, "No calls are left for it: answer with what you "
                           "have.\n");
    else
        ask_all_start(&g->ask, &r->below, reader_below,
                      reader_new(g, r, x, span, a->text));
}

static void reader_do(struct reader *r, const struct action *a)
{
    struct span span;
    struct looking at = {.sources = r->g->part.sources,
                         .only = r->above ? &r->span : NULL,
                         .tokens = r->window / 4};

    if (a->kind == ACTION_ASK && looking_span(&at, a, &span)) {
        reader_ask_below(r, a, span);
        return;
    }
    looking_do(&at, a, &reader_step(r)->text);
}

/* The first reader's answer is the guide; with findings it is shown them, and
 * may try again. */
static void reader_take_guide(struct reader *r, const char *text)
{
    struct guide *g = r->g;
    struct buf note = BUF_INIT;

    buf_reset(&g->text);
    buf_reset(&g->findings);
    buf_puts(&g->text, text);
    if (layout_check(str_of(text), g->part.sources, g->opt.words,
                     &g->findings) == 0 ||
        g->repairs == REPAIRS || r->last) {
        r->said = xstrdup(text);
        return;
    }
    g->repairs++;
    buf_printf(&note,
               "Your guide has findings. Send the whole guide again, mended. A "
               "name that occurs in no document is most likely made up.\n%s\n"
               "Your guide was:\n%s\n",
               buf_str(&g->findings), text);
    reader_note(r, buf_str(&note));
    buf_release(&note);
}

/* Does what a reply says. -1: the work ends for all. */
static int reader_take(struct reader *r, struct str reply)
{
    struct actions list;
    struct err e = ERR_INIT;
    int rc = actions_read(reply, &list, &e), end = 0;

    if (rc == 0 && list.item[0].kind == ACTION_FINAL) {
        if (r->above)
            r->said = xstrdup(list.item[0].text);
        else
            reader_take_guide(r, list.item[0].text);
    } else if (r->last) {
        r->silent = xstrdup("(it gave no answer)");
    } else if (rc < 0) {
        char *note = xasprintf("Your reply cannot be used: %s.\n", e.text);

        reader_note(r, note);
        free(note);
    } else {
        r->turns++;
        for (size_t i = 0; i < list.len; i++)
            reader_do(r, &list.item[i]);
        end = ask_all_wait(&r->below);
    }
    actions_release(&list);
    return end;
}

static int reader_ask(struct reader *r, struct ledger_answer *out)
{
    struct guide *g = r->g;
    char asked[HASH_HEX];
    struct ledger_question q = {.purpose = "guide", .asked = asked};

    r->last = r->turns + 1 >= TURNS || guide_calls(g) >= (size_t)g->opt.calls;
    reader_prompt(r);
    ledger_hash(asked, "%s/%zu/%s", r->path, r->turns, r->prompt.hash);
    q.prompt_hash = r->prompt.hash;
    q.request = (struct llm_request){
        .key = {g->opt.dsl, "guide", r->path, (int)r->turns + 1},
        .message = r->prompt.message,
        .count = r->prompt.count};
    return ask_all_question(&g->ask, &q, &r->memory, out);
}

/* Turn by turn, until it has answered. -1: the work ends for all. */
static int reader_run(struct reader *r)
{
    struct ledger_answer a;

    while (!r->said && !r->silent) {
        if (reader_ask(r, &a) < 0)
            return -1;
        if (a.end == LEDGER_FAILED)
            r->silent = xstrdup(a.why);
        else if (a.cut && !r->last)
            reader_note(r,
                        "Your reply was cut at the token limit: be shorter.\n");
        else if (reader_take(r, a.text) < 0)
            return -1;
    }
    return 0;
}

static int reader_below(struct ask_all *a, size_t item, void *arg,
                        struct err *e)
{
    struct reader *r = arg;
    int rc = reader_run(r);

    (void)a, (void)item, (void)e;
    if (rc == 0)
        buf_printf(&r->answer->text, "Answer: %s\n",
                   r->said ? r->said : r->silent);
    reader_free(r);
    return rc;
}

static int reader_first(struct ask_all *a, size_t item, void *arg,
                        struct err *e)
{
    struct reader *r = reader_new(arg, NULL, NULL, (struct span){0}, NULL);
    int rc = reader_run(r);

    (void)a, (void)item;
    if (r->silent)
        rc = err_set(e, ERR_INPUT, "the model did not finish its guide: %s",
                     r->silent);
    reader_free(r);
    return rc;
}

/* ---- the whole ---- */

struct guide *guide_new(const struct guide_parts *p, const struct guide_opts *o)
{
    struct guide *g = xcalloc(1, sizeof(*g));

    g->part = *p;
    g->opt = *o;
    buf_init(&g->text, BUF_UNLIMITED);
    buf_init(&g->findings, BUF_UNLIMITED);
    return g;
}

void guide_free(struct guide *g)
{
    buf_release(&g->text);
    buf_release(&g->findings);
    free(g);
}

enum ask_end guide_run(struct guide *g, struct err *e)
{
    g->ask = (struct ask_all){.part = g->part.ask};
    return ask_all(&g->ask, 1, reader_first, g, e);
}

struct str guide_text(const struct guide *g)
{
    return buf_view(&g->text);
}

struct str guide_findings(const struct guide *g)
{
    return buf_view(&g->findings);
}
