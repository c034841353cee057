/* exec.c: the provider `exec`: a command of the user's answers. It gets the
 * request as JSON on its standard input and writes the answer to its standard
 * output. Our API keys are not in its environment. */
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/tick.h"
#include "io/proc.h"
#include "llm/doc.h"
#include "llm/llm.h"
#include "llm/provider.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define OUT_LIMIT       ((size_t)16 << 20)
#define ERR_LIMIT_BYTES ((size_t)2000)
#define SAID_LIMIT      300 /* bytes of stderr in an error */

struct exec {
    struct provider base;
    struct loop *loop;
    const struct llm_opts *opts;
    const char **env;
};

struct exec_send {
    struct send base;
    struct proc *proc;
    char *in;
};

static struct provider *exec_open(const struct provider_type *t, struct loop *l,
                                  const struct llm_opts *o, struct err *e)
{
    struct exec *x;

    if (!o->command || !*o->command) {
        err_set(e, ERR_USAGE, "the provider exec needs --command COMMAND");
        return NULL;
    }
    x = xcalloc(1, sizeof(*x));
    x->base.type = t;
    x->loop = l;
    x->opts = o;
    x->env = secret_free_env();
    return &x->base;
}

static void exec_cancel(struct send *send)
{
    struct exec_send *s = (struct exec_send *)send;

    proc_free(s->proc);
    free(s->in);
    send_free(send);
}

static void exec_close(struct provider *p)
{
    struct exec *x = (struct exec *)p;

    free(x->env);
    free(x);
}

/* ---- how it ended ---- */

/* The first bytes of what it said on stderr, as one line. */
static void exec_said(const struct buf *err, struct buf *out)
{
    struct str text = str_trim(buf_view(err));

    if (text.n)
        buf_puts(out, ": ");
    for (size_t i = 0; i < text.n && i < SAID_LIMIT; i++) {
        char c = text.p[i];

        if ((unsigned char)c < ' ')
            c = ' ';
        buf_putc(out, c);
    }
}

/* What went wrong, or SEND_ANSWERED. Only a command that says so by its exit
 * status is known not to have been billed. */
static enum send_outcome exec_judge(const struct proc_result *r,
                                    struct buf *why)
{
    enum send_outcome outcome = SEND_LOST;

    if (r->timed_out) {
        buf_puts(why, "the command timed out");
    } else if (r->out_truncated) {
        buf_printf(why, "the command wrote more than %zu bytes", OUT_LIMIT);
    } else if (r->signal) {
        buf_printf(why, "the command was killed by signal %d", r->signal);
    } else if (r->exit_code) {
        buf_printf(why, "the command exited with status %d", r->exit_code);
        if (r->exit_code == EX_TEMPFAIL)
            outcome = SEND_RETRY;
        if (r->exit_code == 126 || r->exit_code == 127)
            outcome = SEND_REFUSED; /* sh: it cannot be run, it is not there */
    } else if (str_trim(buf_view(&r->out)).n == 0) {
        buf_puts(why, "the command wrote nothing");
    } else {
        return SEND_ANSWERED;
    }
    exec_said(&r->err, why);
    return outcome;
}

/* An object with "text" or "error" is an answer's JSON; all else is the text. */
static void exec_read(const struct proc_result *r, struct doc *a,
                      struct buf *why)
{
    struct str all = buf_view(&r->out), text = str_trim(all);
    struct err e = ERR_INIT;
    json_t *v = NULL;

    if (text.p[0] == '{')
        v = jsn_parse("", text.p, text.n, &e);
    if (!json_object_get(v, "text") && !json_object_get(v, "error")) {
        json_decref(v);
        doc_from_text(a, all.p, all.n);
    } else if (doc_from_json(a, v, &e) < 0) {
        buf_printf(why, "the command's JSON: %s", e.text);
        a->result =
            (struct send_result){.outcome = SEND_LOST, .error = buf_str(why)};
    }
}

static void exec_on_end(struct proc *p, struct proc_result *r, void *arg)
{
    struct exec_send *s = arg;
    struct doc a = {0};
    struct buf why = BUF_INIT;

    (void)p;
    a.result.outcome = exec_judge(r, &why);
    a.result.error = buf_str(&why);
    if (a.result.outcome == SEND_ANSWERED)
        exec_read(r, &a, &why);
    proc_free(s->proc);
    free(s->in);
    send_end(&s->base, &a.result);
    doc_release(&a);
    buf_release(&why);
}

static struct send *exec_send(struct provider *p, const struct llm_request *q,
                              send_fn *fn, void *arg, struct err *e)
{
    struct exec *x = (struct exec *)p;
    const char *const argv[] = {"sh", "-c", x->opts->command, NULL};
    struct exec_send *s = send_new(sizeof(*s), p, fn, arg);
    json_t *v = request_json(q, x->opts);
    struct proc_opts o = {.argv = argv,
                          .env = x->env,
                          .out_limit = OUT_LIMIT,
                          .err_limit = ERR_LIMIT_BYTES,
                          .timeout_ns = x->opts->timeout_ms * TICK_MS,
                          .grace_ns = TICK_S};

    s->in = json_dumps(v, JSON_COMPACT);
    json_decref(v);
    o.in = s->in;
    o.in_len = strlen(s->in);
    s->proc = proc_start(x->loop, &o, exec_on_end, s, e);
    if (s->proc)
        return &s->base;
    exec_cancel(&s->base);
    return NULL;
}

const struct provider_type provider_exec = {
    .name = "exec",
    .open = exec_open,
    .close = exec_close,
    .send = exec_send,
    .cancel = exec_cancel,
};
