/* traces.c: the trace of a candidate as text. */
#include "cmd/traces.h"

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void put_count(struct buf *out, json_int_t n, const char *one,
                      const char *many)
{
    buf_printf(out, "%lld %s", (long long)n, n == 1 ? one : many);
}

static void put_bytes(const json_t *object, struct buf *out)
{
    buf_printf(out, "%lld bytes read, %lld written",
               (long long)number_of(object, "bytes_read"),
               (long long)number_of(object, "bytes_written"));
}

static void put_kernel(const json_t *kernel, struct buf *out)
{
    const json_t *grid = json_object_get(kernel, "grid");

    buf_printf(out, "        %s, grid ", jsn_str(kernel, "name"));
    for (size_t i = 0; i < json_array_size(grid); i++)
        buf_printf(out, "%s%lld", i ? " x " : "",
                   (long long)json_integer_value(json_array_get(grid, i)));
    buf_puts(out, ": ");
    put_count(out, number_of(kernel, "launches"), "launch", "launches");
    buf_puts(out, ", ");
    put_bytes(kernel, out);
    buf_putc(out, '\n');
}

static void put_call(const json_t *call, const char *title, struct buf *out)
{
    const json_t *kernels = json_object_get(call, "kernels");

    buf_printf(out, "    %s: ", title);
    put_count(out, number_of(call, "launches"), "launch", "launches");
    buf_puts(out, ", ");
    put_count(out, number_of(call, "moves"), "move", "moves");
    buf_puts(out, ", at least ");
    put_bytes(call, out);
    buf_putc(out, '\n');
    for (size_t i = 0; i < json_array_size(kernels); i++)
        put_kernel(json_array_get(kernels, i), out);
}

void traces_put(const json_t *trace, struct buf *out)
{
    const json_t *first = json_object_get(trace, "first");

    if (!json_is_object(trace)) {
        buf_puts(out, "    no trace\n");
        return;
    }
    put_call(trace, "each call", out);
    if (json_is_object(first))
        put_call(first, "the first call", out);
}
