/* cmd_serve.c: monkeys serve: runs as a page in a browser. */
#include "base/log.h"
#include "cmd/cmd.h"
#include "web/web_server.h"

#include <stdio.h>

struct serve_values {
    const char *listen;
    struct opt_list host;
};

#define VALUES struct serve_values
static const struct opt serve_table[] = {
    {"listen", 0, OPT_TEXT, "HOST:PORT",
     "where to listen; port 0 is any free one (default: " HTTPD_LISTEN
     ", or another port if that one is in use)",
     AT(listen)},
    {"host", 0, OPT_LIST, "NAME",
     "also answer requests for this name, such as that of a proxy; may be "
     "repeated",
     AT(host)},
    {0},
};

static void serve_on_signal(int signo, void *arg)
{
    (void)signo;
    loop_stop(arg);
}

/* Until a signal comes. */
static int serve_until_stopped(struct web_live *live,
                               const struct httpd_listen *where, struct err *e)
{
    struct loop *l = loop_new(e);
    struct web_server *s = NULL;

    if (!l)
        return -1;
    if (loop_add_stops(l, serve_on_signal, l, e) == 0)
        s = web_server_new(l, where, live, e);
    if (s) {
        printf("%s\n", where->url);
        cmd_flush();
        httpd_listen_warn(where);
        loop_run(l);
        web_server_end(s);
        web_server_free(s);
    }
    loop_free(l);
    return s ? 0 : -1;
}

static int serve_command(struct cmd_call *call, struct err *e)
{
    const struct serve_values *v = call->values;
    struct httpd_listen where;
    struct web_live live;
    int rc;

    if (call->r.rest_len == 0)
        return err_set(e, ERR_USAGE, "give the folder of a run");
    if (web_live_open(call->r.rest, call->r.rest_len, &live, e) < 0)
        return -1;
    rc = httpd_listen_open(v->listen, &v->host, &where, e);
    if (rc == 0) {
        rc = serve_until_stopped(&live, &where, e);
        httpd_listen_close(&where);
    }
    web_live_close(&live);
    return rc;
}

const struct cmd cmd_serve = {
    "serve",
    "DIR...",
    "show runs in a browser, also while they work",
    "Prints the address of the page and serves it until Ctrl-C. The page\n"
    "needs no network: all of it comes from this program. The server only\n"
    "reads, and only this machine can reach it unless --listen says\n"
    "otherwise. For a run on another machine, use a tunnel: ssh -L\n"
    "8123:127.0.0.1:8123 HOST.",
    serve_table,
    serve_command,
    sizeof(struct serve_values),
    NULL,
};
