/* test_extract.c: the program in replies as models write them. */
#include "prompt/extract.h"

#include "source/py_normal.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM                    \
    "import torch\n\n"             \
    "class ModelNew(nn.Module):\n" \
    "    def forward(self, x):\n"  \
    "        return kernel(x)\n"
#define OTHER "import torch\n\nclass ModelNew(nn.Module):\n    y = 2\n"

/* No code, and a feedback that holds `text`. */
static void tells(const char *what, const struct buf *code,
                  const struct buf *feedback, const char *text)
{
    ok(code->len == 0, "%s: no code", what);
    if (!ok(strstr(buf_str(feedback), text) != NULL, "%s: the feedback", what))
        printf("# %s", buf_str(feedback));
}

static void check(const char *what, struct str reply, bool cut,
                  enum extract_outcome want, const char *text)
{
    char normal[HASH_HEX] = "", same[HASH_HEX] = "";
    struct buf code = {.limit = (size_t)2 << 20}, feedback;
    enum extract_outcome got;

    buf_init(&feedback, 4096);
    got = extract_code(reply, "ModelNew", cut, &code, &feedback, normal);
    ok(got == want, "%s: the outcome (%d)", what, (int)got);
    if (want == EXTRACT_CODE) {
        is(buf_str(&code), text, what);
        ok(feedback.len == 0, "%s: nothing to say", what);
        py_normal_hash((struct str){buf_str(&code), code.len}, same);
        is(normal, same, "its normal hash");
    } else {
        tells(what, &code, &feedback, text);
    }
    buf_release(&code);
    buf_release(&feedback);
}

static void gives(const char *what, const char *reply, const char *want)
{
    check(what, str_of(reply), false, EXTRACT_CODE, want);
}

static void gives_none(const char *what, const char *reply, const char *why)
{
    check(what, str_of(reply), false, EXTRACT_NO_CODE, why);
}

static void test_blocks(void)
{
    gives("one block", "Here:\n\n```python\n" PROGRAM "```\nDone.", PROGRAM);
    gives("no language", "```\n" PROGRAM "```", PROGRAM);
    gives("any language", "```Py3 title=\"x.py\"\n" PROGRAM "```\n", PROGRAM);
    gives("tildes", "~~~python\n" PROGRAM "~~~\n", PROGRAM);
    gives("CRLF",
          "```python\r\nimport torch\r\nclass ModelNew:\r\n    pass\r\n```\r\n",
          "import torch\nclass ModelNew:\n    pass\n");
    gives("a byte order mark", "\xef\xbb\xbf```\n" PROGRAM "```", PROGRAM);
    gives("the last program wins",
          "```python\n" OTHER "```\nBetter:\n```python\n" PROGRAM "```\n",
          PROGRAM);
    gives("blocks that are no program do not count",
          "```bash\npip install it's\n```\n```python\n" PROGRAM
          "```\nUse it so:\n```python\nm = ModelNew()\n```\n"
          "```\nModelNew: 3 ms\n```\n",
          PROGRAM);
    gives("an excerpt that is not Python does not count",
          "```python\n" PROGRAM "```\n```python\nclass ModelNew(:\n```\n",
          PROGRAM);
    gives("a block in a list",
          "1. So:\n   ```python\n   import torch\n\n   class ModelNew:\n"
          "       pass\n   ```\n",
          "import torch\n\nclass ModelNew:\n    pass\n");
    gives("indented content", "```\n    class ModelNew:\n        x = 1\n```",
          "class ModelNew:\n    x = 1\n");
    gives("a class without bases", "```\nclass ModelNew:\n    pass\n```",
          "class ModelNew:\n    pass\n");
}

#define DOC                                          \
    "class ModelNew(nn.Module):\n"                   \
    "    \"\"\"Used so:\n\n    ```python\n    m()\n" \
    "    ```\n    \"\"\"\n    x = 1\n"

static void test_nested(void)
{
    gives("fences in a docstring", "```python\n" DOC "```\nThat is all.", DOC);
    gives("fences in a docstring before the class",
          "```python\n\"\"\"\n```\nx\n```\n\"\"\"\n" PROGRAM "```\n",
          "\"\"\"\n```\nx\n```\n\"\"\"\n" PROGRAM);
    gives("a longer fence", "````markdown\n```python\n" PROGRAM "```\n````\n",
          PROGRAM);
    gives("a fence opened twice", "```python\n```python\n" PROGRAM "```\n```\n",
          PROGRAM);
    gives("a longer fence round code with a fence", "````python\n" DOC "````\n",
          DOC);
    gives("code in prose is no fence",
          "Use ```x``` here.\n```python\n" PROGRAM "```", PROGRAM);
    gives("a block that is never closed", "Sure:\n```python\n" PROGRAM,
          PROGRAM);
    gives("a block that is left open before the next",
          "```python\n" PROGRAM "```text\nrun it\n```\n", PROGRAM);
    gives("a block that is closed behind code",
          "```python\nclass ModelNew:\n    x = 1```",
          "class ModelNew:\n    x = 1\n");
}

static void test_bare(void)
{
    gives("no fence at all", PROGRAM, PROGRAM);
    gives("no fence, a sentence before", "Here is the program:\n\n" PROGRAM,
          PROGRAM);
    gives("no fence, a constant before", "SIZE = 4\n" PROGRAM,
          "SIZE = 4\n" PROGRAM);
    gives("no fence, fences in a docstring", DOC, DOC);
    gives_none("code that is not Python, without a fence",
               "class ModelNew:\n    x = (\n", "not valid Python: line 2");
    gives_none("prose that names the class",
               "The class ModelNew: it wraps a kernel.", "no code block");
}

static void test_thoughts(void)
{
    gives("a thought before",
          "<think>\n```python\n" OTHER "```\nwait</think>\n```python\n" PROGRAM
          "```",
          PROGRAM);
    gives("a thought without its start",
          "so ```\n\n" OTHER "</think>\n\n```python\n" PROGRAM "```", PROGRAM);
    gives("a thought behind the answer",
          "```python\n" PROGRAM "```\n<thinking>\n```python\n" OTHER "```\n",
          PROGRAM);
    gives("a thought that never ends holds the answer",
          "<think>Let me see.\n```python\n" PROGRAM "```\n", PROGRAM);
    gives("a program that speaks of thoughts",
          "```python\nEND = '</think>'\n" PROGRAM "```\n",
          "END = '</think>'\n" PROGRAM);
    check("cut in a thought",
          STR_LIT("<think>\n```python\n" PROGRAM "```\nBut"), true,
          EXTRACT_TRUNCATED, "cut at the token limit before");
}

static void test_cut(void)
{
    check("cut inside the block", STR_LIT("Here:\n```python\n" PROGRAM), true,
          EXTRACT_TRUNCATED, "inside the code block");
    check("cut before it", STR_LIT("First I will"), true, EXTRACT_TRUNCATED,
          "before it had a complete code block");
    check("cut without a fence", STR_LIT(PROGRAM), true, EXTRACT_TRUNCATED,
          "class ModelNew short enough");
    check("cut behind the block",
          STR_LIT("```python\n" PROGRAM "```\nThis kernel"), true, EXTRACT_CODE,
          PROGRAM);
}

static void test_none(void)
{
    gives_none("nothing", "", "no code block");
    gives_none("prose", "I cannot do this.", "no code block");
    gives_none("another class", "```python\nclass Model(x):\n    pass\n```",
               "1 code block, and none defines class ModelNew");
    gives_none("two blocks", "```\nx\n```\n\n```\nModelNew = 1\n```\n",
               "2 code blocks, and none");
    gives_none("a class inside a function",
               "```\ndef f():\n    class ModelNew:\n        pass\n```",
               "none defines");
    gives_none("not Python",
               "```python\nclass ModelNew(nn.Module):\n    x = (1\n```\n",
               "not valid Python: line 2");
    gives_none("the broken line is shown",
               "```python\nclass ModelNew:\n    s = 'open\n```\n",
               "    s = 'open\n");
    check("bytes that are no text",
          STR_LIT("```\nclass ModelNew:\n    x = '\xff\xfe'\n```"), false,
          EXTRACT_NO_CODE, "not valid Python");
    check("a NUL", STR_LIT("```\nclass ModelNew:\n    x = '\0'\n```"), false,
          EXTRACT_NO_CODE, "not valid Python");
}

static void test_many_fences(void)
{
    struct buf reply = BUF_INIT;

    for (int i = 0; i < 40000; i++)
        buf_puts(&reply, "```a\nModelNew\n");
    buf_puts(&reply, "```\n");
    check("40,000 open fences", (struct str){buf_str(&reply), reply.len}, false,
          EXTRACT_NO_CODE, "Answer with one fenced block");
    buf_release(&reply);
}

/* ---- edits ---- */

#define PARENT                     \
    "import torch\n"               \
    "A = 1\n"                      \
    "B = 2\n"                      \
    "class ModelNew(nn.Module):\n" \
    "    def forward(self, x):\n"  \
    "        y = x\n"              \
    "        return y\n"
#define EDIT(from, to) \
    "<<<<<<< SEARCH\n" from "=======\n" to ">>>>>>> REPLACE\n"

static void edit(const char *what, const char *reply, bool cut,
                 enum extract_outcome want, const char *text)
{
    struct buf code = {.limit = (size_t)2 << 20}, feedback;
    enum extract_outcome got;

    buf_init(&feedback, 4096);
    got = extract_diff(str_of(reply), STR_LIT(PARENT), "ModelNew", cut, &code,
                       &feedback);
    ok(got == want, "%s: the outcome (%d)", what, (int)got);
    if (want == EXTRACT_CODE)
        ok(strstr(buf_str(&code), text) && feedback.len == 0, "%s: the program",
           what);
    else
        tells(what, &code, &feedback, text);
    buf_release(&code);
    buf_release(&feedback);
}

static void test_edits(void)
{
    edit("one edit", "So:\n" EDIT("A = 1\n", "A = 7\n"), false, EXTRACT_CODE,
         "import torch\nA = 7\nB = 2\n");
    edit("edits in a fence", "```diff\n" EDIT("A = 1\n", "A = 7\n") "```\n",
         false, EXTRACT_CODE, "A = 7\nB = 2\n");
    edit("two, the second on the first's result",
         EDIT("A = 1\n", "C = 3\n") EDIT("C = 3\nB = 2\n", "D = 4\n"), false,
         EXTRACT_CODE, "torch\nD = 4\nclass");
    edit("lines taken out", EDIT("B = 2\n", ""), false, EXTRACT_CODE,
         "A = 1\nclass");
    edit("blanks at line ends do not matter", EDIT("A = 1  \n", "A = 7\n"),
         false, EXTRACT_CODE, "A = 7\nB");
    edit("nor do blank lines round a part", EDIT("\nA = 1\n\n", "\nA = 7\n\n"),
         false, EXTRACT_CODE, "torch\nA = 7\nB");
    edit("CRLF",
         "<<<<<<< SEARCH\r\nA = 1\r\n=======\r\nA = 7\r\n>>>>>>> REPLACE\r\n",
         false, EXTRACT_CODE, "A = 7\nB");
    edit("a whole program instead", "```python\n" PROGRAM "```\n", false,
         EXTRACT_CODE, "return kernel(x)");
    edit("edits of a thought do not count",
         "<think>\n" EDIT("Z\n", "Y\n") "</think>\n" EDIT("A = 1\n", "A = 7\n"),
         false, EXTRACT_CODE, "A = 7");
}

static void test_bad_edits(void)
{
    edit("not there", EDIT("        y = x + 1\n", "        y = 0\n"), false,
         EXTRACT_UNMATCHED,
         "    "
         "        y = x + 1\n");
    edit("not there: the nearest place",
         EDIT("        y = x + 1\n", "        y = 0\n"), false,
         EXTRACT_UNMATCHED, "nearest place is line 6:\n            y = x\n");
    edit("wrong indentation is not there", EDIT("y = x\n", "y = 0\n"), false,
         EXTRACT_UNMATCHED, "SEARCH block 1 is not in");
    edit("one of two: none is made",
         EDIT("A = 1\n", "A = 7\n") EDIT("Z = 1\n", "Z = 7\n"), false,
         EXTRACT_UNMATCHED, "SEARCH block 2 is not in");
    edit("twice there",
         EDIT("A = 1\n", "A = 1\nA = 1\n") EDIT("A = 1\n", "B = 7\n"), false,
         EXTRACT_UNMATCHED, "more than once, at lines 2 and 3");
    edit("an empty search", EDIT("", "x\n"), false, EXTRACT_UNMATCHED,
         "an empty SEARCH part");
    edit("no divider", "<<<<<<< SEARCH\nA = 1\n>>>>>>> REPLACE\n", false,
         EXTRACT_UNMATCHED, "block 1 has no line '======='");
    edit("no end", "<<<<<<< SEARCH\nA = 1\n=======\nA = 7\n", false,
         EXTRACT_UNMATCHED, "no line '>>>>>>> REPLACE'");
    edit("cut", EDIT("A = 1\n", "A = 7\n") "<<<<<<< SEARCH\nB", true,
         EXTRACT_TRUNCATED, "inside an edit");
    edit("not Python afterwards", EDIT("A = 1\n", "A = (\n"), false,
         EXTRACT_NO_CODE, "not valid Python");
    edit("no class afterwards",
         EDIT("class ModelNew(nn.Module):\n", "class Model(nn.Module):\n"),
         false, EXTRACT_NO_CODE, "no class ModelNew");
    edit("neither edits nor a program", "Sorry.", false, EXTRACT_NO_CODE,
         "no code block");
}

static void test_divider_in_code(void)
{
    struct buf code = {.limit = 4096}, feedback = {.limit = 4096};
    struct str parent = STR_LIT("\"\"\"\nTitle\n=======\n\"\"\"\nclass "
                                "ModelNew:\n    x = 1\n");

    ok(extract_diff(STR_LIT("<<<<<<< SEARCH\nTitle\n=======\n\"\"\"\n=======\n"
                            "\"\"\"\n>>>>>>> REPLACE\n"),
                    parent, "ModelNew", false, &code,
                    &feedback) == EXTRACT_CODE,
       "a line of = may belong to the code: %s", buf_str(&feedback));
    buf_release(&code);
    buf_release(&feedback);
}

/* ---- plans and JSON ---- */

static void plan(const char *reply, const char *want)
{
    struct str s = extract_plan(str_of(reply));

    ok(str_eq(s, want), "the plan is '%.*s'", (int)s.n, s.p);
}

static void json(const char *what, const char *reply, const char *want)
{
    struct err e = ERR_INIT;
    json_t *v = extract_json(str_of(reply), &e);
    char *text = v ? json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    is(text ? text : e.text, want, what);
    free(text);
    json_decref(v);
}

static void test_plans(void)
{
    plan("  A plan.\n", "A plan.");
    plan("<think>hm</think>\n\nA plan.", "A plan.");
    plan("hm</think>A plan.", "A plan.");
    plan("A plan.\n<think>was it", "A plan.");
    plan("<think>only", "");
}

static void test_json(void)
{
    json("bare", "{\"a\": [1, 2]}", "{\"a\":[1,2]}");
    json("a list", " [1]\n", "[1]");
    json("fenced", "So:\n```json\n{\"a\": 1}\n```\nYes.", "{\"a\":1}");
    json("the last fence that is JSON",
         "```json\n{\"a\": 1}\n```\n```json\n{\"a\": 2}\n```\n```\nx\n```\n",
         "{\"a\":2}");
    json("text around", "As [1] says: {\"a\": \"}{\"} is it.",
         "{\"a\":\"}{\"}");
    json("behind a thought", "<think>{\"a\": 1}</think>{\"b\": 2}",
         "{\"b\":2}");
    json("a brace in prose first", "The set {x} and {\"a\": 1}", "{\"a\":1}");
    json("in a fence that is not closed", "```json\n{\"a\": 1}\n", "{\"a\":1}");
    json("trailing commas are not repaired", "{\"a\": 1,}",
         "reply:1:9: string or '}' expected near '}'");
    json("none", "No.", "the reply holds no complete JSON object or list");
    json("cut", "{\"a\": [1, ",
         "the reply holds no complete JSON object or list");
    json("a number", "12", "the reply holds no complete JSON object or list");
}

SUITE(extract)
{
    test_blocks();
    test_nested();
    test_bare();
    test_thoughts();
    test_cut();
    test_none();
    test_many_fences();
    test_edits();
    test_bad_edits();
    test_divider_in_code();
    test_plans();
    test_json();
}
