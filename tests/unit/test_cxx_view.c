/* test_cxx_view.c: which C++ text reaches a build call, and in what form. */
#include "facts_check.h"
#include "tap.h"

#include <string.h>

void suite_cxx_view(void);

#define HELPER "import helper\n"

static const struct {
    const char *claim, *source, *cxx;
} rows[] = {
    {"a literal", HELPER "helper.build('int x;')", "int x;\n"},
    {"implicit concatenation is one text",
     HELPER "helper.build('in' 't' ' x;')", "int x;\n"},
    {"so is a sum", HELPER "helper.build('in' + ('t' + ' x') + ';')",
     "int x;\n"},
    {"arguments are apart", HELPER "helper.build('int', 'x')", "int\nx\n"},
    {"keyword arguments count", HELPER "helper.build(name=n, source='a' + 'b')",
     "ab\n"},
    {"escapes are decoded", HELPER "helper.build('i\\x6et\\tx;')", "int x;\n"},
    {"raw strings are not", HELPER "helper.build(r'a\\n')", "a\\n\n"},
    {"comments are removed",
     HELPER "helper.build('''int /* a */ x; // b\n/* c\n d */ y;''')",
     "int x;\ny;\n"},
    {"strings are emptied", HELPER "helper.build('''f(\"at::mm\", 'c');''')",
     "f(\"\",'');\n"},
    {"blanks and lines mean nothing",
     HELPER "helper.build('''at ::\n   mm ( x );\n\n y = a + +b;''')",
     "at::mm(x);\ny=a+ +b;\n"},
    {"directives have their lines",
     HELPER "helper.build('''#include <x.h>\n#define F at::mm\nF(x);''')",
     "#include <x.h>\n#define F at::mm\nF(x);\n"},
    {"a name of the module", HELPER "S = 'int x;'\nhelper.build(S)",
     "int x;\n"},
    {"all its assignments",
     HELPER "S = 'a;'\nif q:\n    S = 'b;'\nS += 'c;'\nhelper.build(S)",
     "a;\nb;\nc;\n"},
    {"a name in a sum is part of it",
     HELPER "A = 'at::'\nB = A + 'mm'\nhelper.build(B + '(x);')",
     "at::mm(x);\n"},
    {"a local name", HELPER "def f():\n    s = 'x;'\n    helper.build(s)",
     "x;\n"},
    {"an attribute of self, of the class, of the object",
     HELPER "class A:\n    S = 'a;'\n    def f(self):\n        self.T = 'b;'\n"
            "        helper.build(self.S)\n        helper.build(self.T)\n"
            "        helper.build(A.S)",
     "a;\nb;\n"},
    {"items of a list and a dict",
     HELPER "L = ['a;', 'b;']\nD = {'k': 'c;'}\nD['m'] = 'd;'\n"
            "helper.build(L[0], D)",
     "a;\nb;\nk\nc;\nd;\n"},
    {"what was appended",
     HELPER "L = []\nL.append('a;')\nhelper.build(','.join(L))", ",\na;\n"},
    {"format, replace, %",
     HELPER "S = 'x {};'\nhelper.build(S.format('a'), S.replace('b', 'c'), "
            "'%s;' % 'd')",
     "a\nb\nc\n%s;\nd\nx{};\n"},
    {"an f-string's text, doubled braces, literals in its fields",
     HELPER "n = 3\nO = 'mm'\n"
            "helper.build(f'void f() {{ at::{O}(x[{n}]); {\"y\"}; }}')",
     "void f(){at::mm(x[]);y;}\n"},
    {"what a function returns",
     HELPER "def s():\n    t = 'a;'\n    return t + 'b;'\nhelper.build(s())",
     "a;b;\n"},
    {"what a parameter is given",
     HELPER "def f(s):\n    return helper.build(s)\nf('a;')\nf(s='b;')",
     "a;\nb;\n"},
    {"a loop variable", HELPER "for s in ['a;']:\n    helper.build(s)", "a;\n"},
    {"an alias of the build call",
     "from helper import build as b\nc = b\nc('a;')", "a;\n"},
    {"a string that reaches no build call is not there",
     HELPER "S = '__global__'\nhelper.build('a;')", "a;\n"},
    {"nor one whose build call is dead",
     HELPER "def f(): helper.build('__global__')\nclass ModelNew: pass", ""},
    {"two calls, each text once",
     HELPER "S = 'a;'.strip()\nhelper.build(S.x)\nhelper.build(S.y)", "a;\n"},
    {"a comment in one string hides no other",
     HELPER "helper.build('/*', 'a;')", "a;\n"},
    {"nor behind a choice", HELPER "helper.build(('' or '/*') + 'a;')", "a;\n"},
    {"nor behind a value that was overwritten",
     HELPER "S = '/*'\nS = ''\nhelper.build(S + 'a;')", "a;\n"},
    {"nor in a call", HELPER "helper.build(f('/*') + 'a;')", "a;\n"},
    {"nor as another argument's part",
     HELPER "S = 'a;'\nhelper.build('/*' + S + '*/', S.strip())", "a;\n"},
    {"names that contain each other end",
     HELPER "A = B + 'a;'\nB = A + 'b;'\nhelper.build(A)", NULL},
    {"so does an f-string that contains itself",
     HELPER "A = f'{A}a{b + A};{A}'\nhelper.build(A)\nhelper.build(A)", NULL},
    {"so does a function that returns itself",
     HELPER "def f(s): return f(s + 'a;')\nhelper.build(f('b;'))", NULL},
};

struct claim {
    const char *claim, *source;
};

static const struct claim sure[] = {
    {"a string", HELPER "helper.build('a;')"},
    {"strings next to each other, in parentheses",
     HELPER "helper.build(('a;' r'b;'\n  'c;'))"},
    {"a sum", HELPER "helper.build('a;' + ('b;' + \"c;\"))"},
    {"an f-string without a field", HELPER "helper.build(f'f() {{ }}')"},
    {"a name", HELPER "S: str = 'a;'\nhelper.build(source=S)"},
    {"a sum of names",
     HELPER "A, B = 'a;', 'b;'\nS = A + B\nhelper.build(S + 'c;')"},
    {"a local name", HELPER "def f():\n  s = 'a;'\n  helper.build(s)"},
    {"by another name of the build call",
     "from helper import build as b\nc = b\nc('a;')"},
};

static const struct claim computed[] = {
    {"a slice", HELPER "S = ';a'\nhelper.build(S[::-1])"},
    {"a slice on the way", HELPER "S = ';a'[::-1]\nhelper.build(S)"},
    {"a slice of a part",
     HELPER "A = ';a'\nS = 'b;' + A[::-1]\nhelper.build(S)"},
    {"a format", HELPER "helper.build('{}'.format('a'))\n"},
    {"a per cent sign", HELPER "helper.build('%s' % 'a')"},
    {"a product", HELPER "helper.build('a' * 2)"},
    {"a call", HELPER "helper.build(f('a;'))"},
    {"an f-string with a field", HELPER "N = 'a'\nhelper.build(f'{N};')"},
    {"a choice", HELPER "helper.build('a;' if q else 'b;')"},
    {"a name that is bound twice",
     HELPER "S = 'a;'\nS = 'b;'\nhelper.build(S)"},
    {"a name that is added to", HELPER "S = 'a;'\nS += 'b;'\nhelper.build(S)"},
    {"a name that a function may bind",
     HELPER "S = 'a;'\ndef f(x):\n  global S\n  S = x\nhelper.build(S)"},
    {"a loop variable", HELPER "for s in ['a;']: helper.build(s)"},
    {"a parameter", HELPER "def f(s='a;'): helper.build(s)\nf()"},
    {"an attribute", HELPER "class A:\n  S = 'a;'\nhelper.build(A.S)"},
    {"an item", HELPER "L = ['a;']\nhelper.build(L[0])"},
    {"a file", HELPER "S = open('x').read()\nhelper.build(S)"},
    {"a name that contains itself", HELPER "S = 'a;' + S\nhelper.build(S)"},
    {"one argument of two", HELPER "helper.build('a;', x)"},
    {"arguments out of a list", HELPER "L = ['a;']\nhelper.build(*L)"},
    {"no argument", HELPER "helper.build()"},
    {"the build call handed on", "import functools\nfrom helper import build\n"
                                 "b = functools.partial(build, 'a;')\nb()"},
    {"the build call in a list", HELPER "B = [helper.build]\nB[0]('a;')"},
    {"the build call returned",
     HELPER "def f():\n  return helper.build\nf()('a;')"},
};

static void test_facts(void)
{
    for (size_t i = 0; i < sizeof(sure) / sizeof(sure[0]); i++)
        ok(strstr(facts_of(sure[i].source), " build literal\n") != NULL &&
               !strstr(facts_of(sure[i].source), " build computed\n"),
           "literal: %s", sure[i].claim);
    for (size_t i = 0; i < sizeof(computed) / sizeof(computed[0]); i++)
        ok(strstr(facts_of(computed[i].source), " build computed\n") != NULL,
           "computed: %s", computed[i].claim);
    is(facts_of(HELPER "helper.build(a)\nhelper.build('x')\nhelper.build(a)"),
       "module import helper\n"
       "module use a\nmodule call helper.build\nmodule build computed\n"
       "module call helper.build\nmodule build literal\n"
       "module use a\nmodule call helper.build\nmodule build computed\n",
       "each call is judged for itself");
    ok(strstr(facts_of("import helper\ndef f():\n    helper.build('x')\n"
                       "class ModelNew: pass"),
              "dead build literal\n") != NULL,
       "a dead build call says so");
}

/* a1 = a0 + a0, a2 = a1 + a1 … must not be written out. */
static void test_blow_up(void)
{
    static char source[4096];
    size_t n = 0;

    n += (size_t)snprintf(source + n, sizeof(source) - n, HELPER "a0 = 'x'\n");
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(source + n, sizeof(source) - n,
                              "a%d = a%d + a%d\n", i + 1, i, i);
    snprintf(source + n, sizeof(source) - n, "helper.build(a14)\n");
    ok(strstr(facts_of(source), "module build computed\n") != NULL,
       "a text that grows without bound is given up");
    ok(facts_sound(source), "and the views are sound");
}

void suite_cxx_view(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].cxx)
            is(cxx_of(rows[i].source), rows[i].cxx, rows[i].claim);
        else
            ok(facts_sound(rows[i].source), "%s", rows[i].claim);
    }
    test_facts();
    test_blow_up();
}
