/* folder.c: files of a spool folder. */
#include "llm/folder.h"

#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_LIMIT ((size_t)16 << 20)

static const char *const subs[] = {"requests", "claims", "answers"};

int folder_make(const char *dir, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 3; i++) {
        char *path = fs_join(dir, subs[i]);

        rc = fs_mkdirs(path, e);
        free(path);
    }
    return rc;
}

char *folder_path(const char *dir, const char *sub, const char *id,
                  const char *suffix)
{
    return xasprintf("%s/%s/%s%s", dir, sub, id, suffix);
}

bool folder_has_answer(const char *dir, const char *id)
{
    char *json = folder_path(dir, "answers", id, ".json"),
         *text = folder_path(dir, "answers", id, ".txt");
    bool has = fs_is_file(json) || fs_is_file(text);

    free(json);
    free(text);
    return has;
}

/* Whether it is open for writing: then a read lease is refused. Where leases
 * are not available (another user's file, a network file system), we rely on
 * answers being renamed into place. */
static bool is_being_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool busy;

    if (fd < 0)
        return false;
    /* If another process opens the file, the kernel signals us: use a signal that
     * is ignored by default, not SIGIO, which kills. */
    fcntl(fd, F_SETSIG, SIGURG);
    busy = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
    if (!busy)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    close(fd);
    return busy;
}

static int read_json(const char *path, struct doc *out, struct err *e)
{
    json_t *v = jsn_read(path, e);

    if (!v)
        return -1;
    if (doc_from_json(out, v, e) < 0)
        return err_wrap(e, "%s", path);
    return 1;
}

static int read_text(const char *path, struct doc *out, struct err *e)
{
    struct buf text;
    int rc;

    buf_init(&text, ANSWER_LIMIT);
    rc = fs_read(path, &text, e);
    if (rc == 0)
        doc_from_text(out, buf_str(&text), text.len);
    buf_release(&text);
    return rc < 0 ? -1 : 1;
}

int folder_answer(const char *dir, const char *id, struct doc *out,
                  struct err *e)
{
    char *json = folder_path(dir, "answers", id, ".json"),
         *text = folder_path(dir, "answers", id, ".txt");
    int rc = 0;

    if (fs_is_file(json) && !is_being_written(json))
        rc = read_json(json, out, e);
    else if (fs_is_file(text) && !is_being_written(text))
        rc = read_text(text, out, e);
    free(json);
    free(text);
    return rc;
}

int folder_put_answer(const char *dir, const char *id,
                      const struct send_result *r, struct err *e)
{
    char *path = folder_path(dir, "answers", id, ".json");
    json_t *v = doc_json(r);
    char *text = json_dumps(v, JSON_INDENT(1));
    int rc = fs_replace(path, text, strlen(text), e);

    free(text);
    json_decref(v);
    free(path);
    return rc;
}

int folder_claim(const char *dir, const char *id, const char *who,
                 struct err *e)
{
    char *path = folder_path(dir, "claims", id, "");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), rc = 1;

    if (fd < 0)
        rc = errno == EEXIST ? 0 : err_sys(e, "%s: cannot claim", path);
    else if (fs_write_all(fd, who, strlen(who), e) < 0)
        rc = err_wrap(e, "%s", path);
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

void folder_unclaim(const char *dir, const char *id)
{
    char *path = folder_path(dir, "claims", id, "");

    unlink(path);
    free(path);
}
