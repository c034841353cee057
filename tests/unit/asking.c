/* asking.c: questions of the providers' tests. */
#include "asking.h"

#include "base/mem.h"
#include "proc_run.h"
#include "scratch.h"

static int shell(const char *script, const char *arg, const char *arg2)
{
    const char *const argv[] = {"sh", "-c", script, "sh", arg, arg2, NULL};
    struct proc_opts o = {.argv = argv, .out_limit = 100, .err_limit = 100};
    struct proc_result r;
    struct err e = ERR_INIT;
    int code;

    if (proc_run(&o, &r, &e) < 0)
        BUG("%s", e.text);
    code = r.exit_code;
    proc_result_release(&r);
    return code;
}

void asking_begin(struct asking *a, const char *provider)
{
    struct err e = ERR_INIT;

    *a = (struct asking){.dir = scratch_dir(), .loop = loop_new(&e)};
    if (!a->loop)
        BUG("%s", e.text);
    budget_init(&a->budget, (struct llm_cost){BUDGET_NO_CAP, BUDGET_NO_CAP});
    a->opts = (struct llm_opts){.provider = provider,
                                .model = "test-model",
                                .temperature = 0.25,
                                .max_tokens = 1000,
                                .timeout_ms = 60000};
}

void asking_open(struct asking *a)
{
    struct err e = ERR_INIT;

    a->llm = llm_open(a->loop, &a->opts, &a->budget, ".", &e);
    if (!a->llm)
        snprintf(a->error, sizeof(a->error), "%s", e.text);
}

void asking_end(struct asking *a)
{
    llm_close(a->llm);
    loop_free(a->loop);
    arena_release(&a->arena);
}

const char *asking_path(const struct asking *a, const char *name)
{
    return scratch_path(a->dir, name);
}

struct question {
    struct asking *a;
    struct llm_message message;
    char text[300];
};

static void on_done(struct llm_call *c, const struct llm_reply *r, void *arg)
{
    struct question *q = arg;
    struct asking *a = q->a;

    (void)c;
    a->done++;
    a->outcome = r->outcome;
    a->finish = r->finish;
    a->usage = r->usage;
    a->requests = r->requests;
    snprintf(a->text, sizeof(a->text), "%.*s", (int)r->text.n, r->text.p);
    snprintf(a->model, sizeof(a->model), "%.*s", (int)r->model.n, r->model.p);
    snprintf(a->error, sizeof(a->error), "%s", r->error);
}

void asking_start(struct asking *a, int n, const char *text)
{
    const struct llm_handlers h = {NULL, on_done};
    struct question *q = arena_alloc(&a->arena, sizeof(*q));
    struct llm_request r = {.key = {"L1/7", "refine", "code", n},
                            .message = &q->message,
                            .count = 1,
                            .seed = 0xffffffffffffffff};
    struct err e = ERR_INIT;

    q->a = a;
    snprintf(q->text, sizeof(q->text), "%s", text);
    q->message = (struct llm_message){"user", str_of(q->text), 0};
    if (!llm_ask(a->llm, &r, &h, q, &e))
        BUG("%s", e.text);
}

void asking_ask(struct asking *a, int n, const char *text)
{
    size_t want = a->done + 1;

    asking_start(a, n, text);
    while (a->done < want)
        loop_run_for(a->loop, 1000000);
}

void asking_write(const struct asking *a, const char *name, const char *text)
{
    scratch_put(a->dir, name, text);
}

bool asking_finds(const struct asking *a, const char *text)
{
    return shell("grep -rqF -e \"$2\" \"$1\"", a->dir, text) == 0;
}
