/* batch.c: requests out, results in. */
#include "llm/batch.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "llm/folder.h"

#include <stdlib.h>
#include <string.h>

#define FILE_LIMIT ((size_t)1 << 30)
#define CLAIM      "batch\n"

/* ---- out ---- */

static void copy(json_t *to, const char *as, const json_t *from,
                 const char *name)
{
    json_t *v = json_object_get(from, name);

    if (v && !json_is_null(v))
        json_object_set(to, as, v);
}

/* The line for a request, or NULL. */
static json_t *line_of(const char *id, const json_t *request, const char *model,
                       struct err *e)
{
    json_t *v = json_object(), *body = json_object();

    if (model)
        json_object_set_new(body, "model", json_string(model));
    copy(body, "model", request, "model");
    copy(body, "messages", request, "messages");
    copy(body, "max_completion_tokens", request, "max_tokens");
    copy(body, "temperature", request, "temperature");
    copy(body, "seed", request, "seed");
    json_object_set_new(v, "custom_id", json_string(id));
    json_object_set_new(v, "method", json_string("POST"));
    json_object_set_new(v, "url", json_string("/v1/chat/completions"));
    json_object_set_new(v, "body", body);
    if (json_is_string(json_object_get(body, "model")) &&
        json_is_array(json_object_get(body, "messages")))
        return v;
    err_set(e, ERR_INPUT,
            json_is_array(json_object_get(body, "messages"))
                ? "the request names no model; use --model NAME"
                : "there are no messages");
    json_decref(v);
    return NULL;
}

struct exporting {
    const char *dir, *model;
    struct buf text;
    struct fs_names ids; /* written */
    struct batch_exported *n;
};

static int export_one(struct exporting *x, const char *id, struct err *e)
{
    char *path = folder_path(x->dir, "requests", id, ".json"), *text;
    char *claim = folder_path(x->dir, "claims", id, "");
    json_t *request = NULL, *line = NULL;
    int rc = 0;

    if (folder_has_answer(x->dir, id)) {
        x->n->answered++;
    } else if (fs_is_file(claim)) {
        x->n->claimed++;
    } else if (!(request = jsn_read(path, e))) {
        rc = -1;
    } else if (!(line = line_of(id, request, x->model, e))) {
        rc = err_wrap(e, "%s", path);
    } else {
        text = json_dumps(line, JSON_COMPACT);
        buf_puts(&x->text, text);
        buf_putc(&x->text, '\n');
        free(text);
        x->ids.name =
            xgrow(x->ids.name, &x->ids.cap, x->ids.len, sizeof(*x->ids.name));
        x->ids.name[x->ids.len++] = xstrdup(id);
    }
    json_decref(request);
    json_decref(line);
    free(path);
    free(claim);
    return rc;
}

static int export_all(struct exporting *x, struct err *e)
{
    char *requests = fs_join(x->dir, "requests");
    struct fs_names names;
    int rc = fs_list(requests, false, &names, e);

    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        struct str name = str_of(names.name[i]);
        char id[REQUEST_ID];

        if (name.n != REQUEST_ID - 1 + 5 || !str_ends(name, ".json"))
            continue;
        snprintf(id, sizeof(id), "%.32s", name.p);
        if (request_is_id(id))
            rc = export_one(x, id, e);
    }
    fs_names_release(&names);
    free(requests);
    return rc;
}

int batch_export(const char *dir, const char *file, const char *model,
                 struct batch_exported *n, struct err *e)
{
    struct exporting x = {.dir = dir, .model = model, .n = n};
    int rc;

    *n = (struct batch_exported){0};
    buf_init(&x.text, BUF_UNLIMITED);
    rc = export_all(&x, e);
    if (rc == 0)
        rc = fs_replace(file, buf_str(&x.text), x.text.len, e);
    /* The file is written: claim its requests. */
    for (size_t i = 0; rc == 0 && i < x.ids.len; i++)
        rc = folder_claim(dir, x.ids.name[i], CLAIM, e) < 0 ? -1 : 0;
    n->written = x.ids.len;
    fs_names_release(&x.ids);
    buf_release(&x.text);
    return rc;
}

/* ---- in ---- */

static json_t *get(const json_t *v, const char *a, const char *b)
{
    return json_object_get(json_object_get(v, a), b);
}

static int64_t count(const json_t *v)
{
    json_int_t n = json_integer_value(v); /* 0 for NULL */

    return n < 0 || n > 1000000000 ? 0 : (int64_t)n;
}

static void read_usage(const json_t *body, struct llm_usage *u)
{
    const json_t *usage = json_object_get(body, "usage");

    if (!json_is_object(usage)) {
        u->estimated = true;
        return;
    }
    u->input = count(json_object_get(usage, "prompt_tokens"));
    u->output = count(json_object_get(usage, "completion_tokens"));
    u->cached = count(get(usage, "prompt_tokens_details", "cached_tokens"));
    u->reasoning =
        count(get(usage, "completion_tokens_details", "reasoning_tokens"));
    if (u->cached > u->input)
        u->cached = u->input;
    if (u->reasoning > u->output)
        u->reasoning = u->output;
}

static struct str text_of(const json_t *v)
{
    return json_is_string(v)
               ? (struct str){json_string_value(v), json_string_length(v)}
               : STR_LIT("");
}

/* The first choice of a completion; false when there is none. */
static bool read_body(const json_t *body, struct send_result *r)
{
    const json_t *choice = json_array_get(json_object_get(body, "choices"), 0),
                 *message = json_object_get(choice, "message");
    struct str finish = text_of(json_object_get(choice, "finish_reason"));

    if (!json_is_object(message))
        return false;
    *r = (struct send_result){.outcome = SEND_ANSWERED, .error = ""};
    r->text = text_of(json_object_get(message, "content"));
    r->thought = text_of(json_object_get(message, "reasoning_content"));
    r->model = text_of(json_object_get(body, "model"));
    if (str_eq(finish, "length"))
        r->finish = LLM_LENGTH;
    if (str_eq(finish, "content_filter"))
        r->finish = LLM_FILTERED;
    read_usage(body, &r->usage);
    return true;
}

/* What the provider said went wrong. */
static const char *read_error(const json_t *line)
{
    const json_t *body = get(line, "response", "body");
    const char *said = json_string_value(get(body, "error", "message"));

    if (!said)
        said = json_string_value(get(line, "error", "message"));
    return said && *said ? said : "the result of the batch is an error";
}

/* A status that asking again cannot change. */
static bool is_final(int64_t status)
{
    return status >= 400 && status < 500 && status != 408 && status != 409 &&
           status != 429;
}

static int import_line(const char *dir, const json_t *line,
                       struct batch_imported *n, struct err *e)
{
    const char *id = json_string_value(json_object_get(line, "custom_id"));
    int64_t status = count(get(line, "response", "status_code"));
    struct send_result r = {.outcome = SEND_REFUSED};
    char *request;
    bool ours;

    if (!id)
        return err_set(e, ERR_INPUT,
                       "not a batch result: custom_id is missing");
    request = folder_path(dir, "requests", id, ".json");
    ours = request_is_id(id) && fs_is_file(request);
    free(request);
    if (!ours) {
        n->unknown++;
        return 0;
    }
    if (folder_has_answer(dir, id)) {
        n->known++;
        return 0;
    }
    if (status == 200 && read_body(get(line, "response", "body"), &r)) {
        n->answered++;
        return folder_put_answer(dir, id, &r, e);
    }
    if (is_final(status)) {
        r.error = read_error(line);
        n->refused++;
        return folder_put_answer(dir, id, &r, e);
    }
    n->again++;
    folder_unclaim(dir, id);
    return 0;
}

int batch_import(const char *dir, const char *file, struct batch_imported *n,
                 struct err *e)
{
    struct str rest, line;
    struct buf text;
    bool more = true;
    int rc, number = 0;

    *n = (struct batch_imported){0};
    buf_init(&text, FILE_LIMIT);
    rc = folder_make(dir, e);
    if (rc == 0)
        rc = fs_read(file, &text, e);
    rest = (struct str){buf_str(&text), text.len};
    while (rc == 0 && more) {
        json_t *v;

        more = str_cut(&rest, '\n', &line);
        line = str_trim(more ? line : rest);
        number++;
        if (!line.n)
            continue;
        v = jsn_parse("JSON", line.p, line.n, e);
        rc = v ? import_line(dir, v, n, e) : -1;
        json_decref(v);
        if (rc < 0)
            err_wrap(e, "%s:%d", file, number);
    }
    buf_release(&text);
    return rc;
}
