/* dump_tokens.c: the Python lexer's tokens as lines, for diff_tokenize.py. Reads
 * paths from standard input; for each prints "file PATH", a line per token
 * (kind, at, len, line, column, flags, match, hex of the text of a name) and
 * "problem ID LINE COLUMN MESSAGE" where there is one. */
#include "base/fs.h"
#include "source/py_lex.h"

#include <stdio.h>

static const char *const kinds[] = {
    [PY_NAME] = "NAME",     [PY_NUMBER] = "NUMBER",   [PY_STRING] = "STRING",
    [PY_FSTART] = "FSTART", [PY_FTEXT] = "FTEXT",     [PY_FEND] = "FEND",
    [PY_OP] = "OP",         [PY_NEWLINE] = "NEWLINE", [PY_INDENT] = "INDENT",
    [PY_DEDENT] = "DEDENT", [PY_END] = "END",
};

static void dump_token(const struct py_token *t)
{
    printf("%s %u %u %u %u %u %u ", kinds[t->kind], t->at, t->len, t->line,
           t->column, t->flags, t->match);
    for (size_t i = 0; t->kind == PY_NAME && i < t->text.n; i++)
        printf("%02x", (unsigned char)t->text.p[i]);
    putchar('\n');
}

static int dump_file(const char *path, struct err *e)
{
    struct arena a = {0};
    struct buf b = {.limit = (size_t)1 << 30};
    struct py_tokens t;
    int rc;

    rc = fs_read(path, &b, e);
    if (rc == 0) {
        printf("file %s\n", path);
        py_lex(&t, (struct str){buf_str(&b), b.len}, &a);
        for (size_t i = 0; i < t.len; i++)
            dump_token(&t.tok[i]);
        if (t.problem.id)
            printf("problem %s %u %u %s\n", t.problem.id, t.problem.line,
                   t.problem.column, t.problem.message);
    }
    buf_release(&b);
    arena_release(&a);
    return rc;
}

int main(void)
{
    struct err e = ERR_INIT;
    char path[4096];

    while (fgets(path, sizeof(path), stdin)) {
        path[strcspn(path, "\n")] = '\0';
        if (dump_file(path, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            return 2;
        }
    }
    return 0;
}
