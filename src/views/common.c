/* common.c: pieces of JSON that the views share. */
#include "views/views_int.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

const struct views_one views_all[VIEWS] = {
    {"overview", views_overview}, {"grid", views_grid},
    {"archive", views_archive},   {"clusters", views_clusters},
    {"kernels", views_kernels},   {"workers", views_workers},
};

static void put_line(struct str line, struct buf *out)
{
    size_t n = str_utf8_cut(line.p, line.n, VIEWS_LONGEST_LINE);

    buf_put(out, line.p, n);
    if (n < line.n)
        buf_printf(out, " … [%zu more bytes in this line]", line.n - n);
}

/* Sized for people: the whole text is in the store. */
static json_t *cut_text(const char *p, size_t n)
{
    size_t most = str_utf8_cut(p, n, VIEWS_LONGEST_TEXT);
    struct str rest = {p, n}, line;
    struct buf out;
    json_t *text;
    bool more = true;

    buf_init(&out, BUF_UNLIMITED);
    while (more && out.len < most) {
        more = str_cut(&rest, '\n', &line);
        put_line(more ? line : rest, &out);
        if (more)
            buf_putc(&out, '\n');
    }
    if (more && rest.n)
        buf_printf(&out, "… [%zu more bytes]\n", rest.n);
    text = jsn_text(buf_str(&out), out.len);
    buf_release(&out);
    return text;
}

static bool is_long(const char *p, size_t n)
{
    size_t line = 0;

    if (n > VIEWS_LONGEST_TEXT)
        return true;
    for (size_t i = 0; i < n && line <= VIEWS_LONGEST_LINE; i++)
        line = p[i] == '\n' ? 0 : line + 1;
    return line > VIEWS_LONGEST_LINE;
}

json_t *views_text(const char *s)
{
    size_t n = s ? strlen(s) : 0;

    if (!s)
        return json_null();
    return is_long(s, n) ? cut_text(s, n) : jsn_text(s, n);
}

json_t *views_cut(json_t *v)
{
    const char *key;
    json_t *x;
    size_t i;

    if (json_is_string(v) &&
        is_long(json_string_value(v), json_string_length(v))) {
        x = cut_text(json_string_value(v), json_string_length(v));
        json_decref(v);
        return x;
    }
    if (json_is_object(v))
        json_object_foreach(v, key, x)
            json_object_set_new(v, key, views_cut(json_incref(x)));
    if (json_is_array(v))
        json_array_foreach(v, i, x)
            json_array_set_new(v, i, views_cut(json_incref(x)));
    return v;
}

json_t *views_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *views_each(struct run_view *const *runs, size_t n,
                   json_t *(*make)(struct run_view *v, struct err *e),
                   struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *one = make(runs[i], e);

        if (!one) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, one);
    }
    return json_pack("{s:o}", "runs", list);
}
