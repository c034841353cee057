/* test_define.c: --define NAME=VALUE. */
#include "source/task.h"
#include "tap.h"

#include <string.h>

#define TASK                                                              \
    "class Model:\n    T = 3\n    def forward(self, x):\n        U = 1\n" \
    "        return x + U\n"                                              \
    "def get_inputs():\n    return [torch.rand(T)]\n"                     \
    "def get_init_inputs():\n    return []\n"

static void becomes(const char *source, const char *word, const char *want,
                    const char *claim)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT;
    int rc;

    rc = define_in("t.py", str_of(source), word, &out, &e);
    ok(rc == (strcmp(source, want) != 0), "%s: %d %s", claim, rc, e.text);
    is(buf_str(&out), want, claim);
    buf_release(&out);
}

static void refuses(const char *source, const char *word, enum err_kind kind,
                    const char *why)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT;

    ok(define_in("t.py", str_of(source), word, &out, &e) < 0 &&
           e.kind == kind && strstr(e.text, why),
       "%s is refused: %s", word, e.text);
    buf_release(&out);
}

static void test_values(void)
{
    becomes("T = 128  # steps\n", "T=2048", "T = 2048  # steps\n",
            "a number is replaced, and nothing else");
    becomes("T=1", "T=2", "T=2", "on a last line without its end, too");
    becomes("T = -1\nU = 2\n", "T=+3.5e-2", "T = +3.5e-2\nU = 2\n",
            "a sign belongs to the value");
    becomes("flag = True; x = 1\n", "flag=False", "flag = False; x = 1\n",
            "a truth value, before a semicolon");
    becomes("T = \\\n  7\n", "T = 8", "T = \\\n  8\n", "on a joined line");
    becomes("ﬁ = 1\n", "fi=2", "ﬁ = 2\n", "names are compared as Python does");
    becomes("T = 1_000\n", "T=0x10", "T = 0x10\n", "any form of a number");
}

static void test_places(void)
{
    becomes("def f():\n    T = 1\nif x:\n    T = 2\n", "T=3",
            "def f():\n    T = 1\nif x:\n    T = 2\n",
            "only lines of the module level count");
    becomes("def f():\n    T = 1\nT = 2\n", "T=3",
            "def f():\n    T = 1\nT = 3\n", "… also after a block");
    becomes("f(T = 1)\nx = [\nT == 1]\n'''\nT = 1\n'''\n", "T=3",
            "f(T = 1)\nx = [\nT == 1]\n'''\nT = 1\n'''\n",
            "not arguments, comparisons or text");
    becomes("# T = 1\nTT = 1\na.T = 1\n", "T=3", "# T = 1\nTT = 1\na.T = 1\n",
            "not comments, longer names or attributes");
    refuses("x = 1\nT = 2 * x\n", "T=3", ERR_INPUT, "t.py:2: --define T");
    refuses("T = 'long'\n", "T=3", ERR_INPUT, "not a plain number");
    refuses("T = 1, 2\n", "T=3", ERR_INPUT, "not a plain number");
    refuses("T = U = 1\n", "T=3", ERR_INPUT, "not a plain number");
    refuses("T = 1\nT = 2\n", "T=3", ERR_INPUT, "t.py:2: --define T");
}

static void test_words(void)
{
    static const char *const bad[] = {"",
                                      "T",
                                      "T=",
                                      "=3",
                                      "T=x",
                                      "T=1j",
                                      "T=1 2",
                                      "T=1;U=2",
                                      "T==1",
                                      "T=--1",
                                      "T='1'",

                                      "T=None",
                                      " T=1",
                                      "T.x=1",
                                      "T=-True",
                                      "T+=1",
                                      "T=1 # x",
                                      "T=__import__('os')"};

    for (size_t i = 0; i < COUNT(bad); i++)
        refuses("T = 1\n", bad[i], ERR_USAGE, "write NAME=VALUE");
}

static struct task *make(const char *head)
{
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT;
    struct task *t;

    buf_printf(&text, "%s%s", head, TASK);
    t = task_from("s/t.py", (struct str){buf_str(&text), text.len}, &e);
    buf_release(&text);
    return t;
}

static void test_tasks(void)
{
    struct task *list[] = {make("T = 4\nB = 2\n"), make("B = 2\n"),
                           make("T = 5\nB = 2\n")};
    struct collection c = {.task = list, .len = 3};
    const char *word[] = {"T=5", "B=3"};
    struct opt_list words = {word, 1, 1};
    struct err e = ERR_INIT;
    char before[HASH_HEX];

    memcpy(before, list[1]->hash, sizeof(before));
    ok(strcmp(list[0]->hash, list[2]->hash) != 0, "two sizes, two programs");
    ok(define_tasks(&c, &words, &e) == 0, "one of them is defined: %s", e.text);
    is(list[0]->source, "T = 5\nB = 2\n" TASK, "… in the task's source");
    ok(list[0]->len == strlen(list[0]->source), "… whose length follows");
    is(list[0]->hash, list[2]->hash, "… and so does its hash");
    is(list[1]->hash, before, "a task without the name stays as it is");
    words.len = 2;
    ok(define_tasks(&c, &words, &e) == 0, "two words");
    is(list[0]->source, "T = 5\nB = 3\n" TASK, "… both count");
    word[1] = "Q=3";
    ok(define_tasks(&c, &words, &e) < 0 && e.kind == ERR_INPUT &&
           strstr(e.text, "--define Q=3: no task") && strstr(e.text, "T, B"),
       "a name that no task assigns is an error: %s", e.text);
    for (size_t i = 0; i < c.len; i++)
        task_free(list[i]);
}

SUITE(define)
{
    test_values();
    test_places();
    test_words();
    test_tasks();
}
