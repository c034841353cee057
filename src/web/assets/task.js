/* task.js: one task: its attempts, and one of them in full. */

/* ---- code ---- */

const PYTHON =
    "False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try " +
    "while with yield match case";
const CXX =
    "alignas auto bool break case catch char class const constexpr continue default delete do " +
    "double else enum extern false float for goto if inline int long namespace new nullptr " +
    "operator private public return short signed sizeof static struct switch template this " +
    "true typedef typename uint32_t uint64_t int32_t int64_t union unsigned using void " +
    "volatile while __global__ __device__ __shared__";
const WORDS = {
  python: new Set(PYTHON.split(" ")),
  cxx: new Set(CXX.split(" "))
};
const TOKENS = {
  python:
      /(#[^\n]*)|((?:[rRbBfFuU]{0,2})(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(\b\d[\w.]*)|(@?[A-Za-z_]\w*)/g,
  cxx:
      /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|(?![\s\S]))|^[ \t]*#[^\n]*)|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(\b\d[\w.]*)|([A-Za-z_]\w*)/gm,
};

/* [[class or "", text], …] */
function tokens(text, language) {
  const list = [], known = WORDS[language];
  let last = 0;
  for (const m of text.matchAll(TOKENS[language])) {
    let kind = m[1] ? "c" : m[2] ? "s" : m[3] ? "m" : "";
    if (m[4])
      kind = known.has(m[4])                                     ? "k" :
          m[4][0] === "@" || text[m.index + m[0].length] === "(" ? "f" :
                                                                   "";
    if (!kind) continue;
    if (m.index > last) list.push(["", text.slice(last, m.index)]);
    list.push([kind, m[0]]);
    last = m.index + m[0].length;
  }
  if (last < text.length) list.push(["", text.slice(last)]);
  return list;
}

const looks_like_cxx = (text) => /^\s*(#include|\/\/|__global__|extern )/m.test(text) &&
    !/^\s*(def|import|class \w+[(:]) ?/m.test(text);

/* A text with line numbers and colours. */
function code(text, label) {
  const box = h("pre", {class: "numbered", tabindex: "0", role: "region", "aria-label": label});
  let row = h("span", {class: "row"});
  if (text.endsWith("\n")) text = text.slice(0, -1);
  for (const [kind, piece] of tokens(text, looks_like_cxx(text) ? "cxx" : "python"))
    piece.split("\n").forEach((part, i) => {
      if (i) {
        box.append(row);
        row = h("span", {class: "row"});
      }
      if (part)
        row.append(
            kind ? h("span", {class: kind}, part) : put(document.createDocumentFragment(), part));
    });
  box.append(row);
  return box;
}

function diff(text) {
  return h(
      "pre", {tabindex: "0", role: "region", "aria-label": "What changed in the code"},
      text.replace(/\n$/, "").split("\n").map(
          (line) =>
              h("span", {
                class: "row " +
                    (line.startsWith("@@") || line.startsWith("---") || line.startsWith("+++") ?
                         "hunk" :
                         line[0] === "+" ? "add" :
                         line[0] === "-" ? "del" :
                                           "")
              },
                line)));
}

const words_of = (text, label) =>
    h("pre", {class: "wrap", tabindex: "0", role: "region", "aria-label": label}, text);

/* ---- a task ---- */

async function show_task(run_word, id, attempt_word) {
  const run = Number(run_word) || 0;
  const [overview, grid] = await Promise.all([load("overview"), load("grid")]);
  const t = await load_task(run, id, Number(attempt_word) || 0);
  const row = grid_rows(grid).find((r) => r.id === id), mine = row && row.runs[run];
  const a = t && t.attempt;
  const head = [
    h("p", {class: "small"}, h("a", {href: "#/"}, "← all tasks")), h("h1", {class: "name"}, id),
    row &&
        h("p", {class: "soft"},
          [row.family !== "unknown" && row.family, row.operators.join(", ")].filter(Boolean).join(
              ": ")),
    overview.runs.length > 1 &&
        h("div", {class: "tools", role: "group", "aria-label": "Run"},
          overview.runs.map(
              (r, n) => row && row.runs[n] &&
                  h("a", {
                          class: "chip",
                          href: task_link(n, id),
                          "aria-current": n === run ? "page" : null
                        },
                    r.label))),
    mine &&
        h("p", {}, "Attempts: ",
          cells(run, id, mine.letters, overview.verdicts, a ? a.attempt : Number(attempt_word)))
  ];
  if (!t || !a)
    return [
      head,
      !mine            ? h("p", {class: "note"}, "This run has no such task.") :
          mine.skipped ? h("p", {class: "note"}, "Skipped: " + mine.skipped) :
          !inlined && attempt_word ?
                         h("p", {class: "note"}, `There is no attempt ${attempt_word}.`) :
          mine.letters ? h("p", {class: "note"},
                           "The details of this attempt are not in this report, to keep it small. ",
                           `'monkeys show ${overview.runs[run].run} ${id}' prints them.`) :
                         h("p", {class: "note"}, "No attempt is finished yet."),
      t && t.reference && part("The task", code(t.reference, "The task"), true)
    ];
  const same = (text) =>
      a.calls.some((c) => c.reply !== null && text !== null && c.reply.trim() === text.trim());
  return [
    head, verdict_card(t, a, overview, run),
    h("div", {class: "half"},
      h("section", {class: "card"}, h("h2", {}, "The task, in PyTorch"),
        code(t.reference || "", "The task")),
      code_card(t, a)),
    h("section", {class: "card"},
      a.feedback && part("Feedback that the model got", words_of(a.feedback, "Feedback"), true),
      a.plan && !same(a.plan) && part("Plan", words_of(a.plan, "Plan")), examples_part(a, run),
      a.record && trials_part(a.record), a.record && a.record.trace && trace_part(a.record.trace),
      a.calls.map((c) => call_part(c)), cost_part(a))
  ];
}

const part = (title, body, open) =>
    h("details", {class: "part", open: Boolean(open)}, h("summary", {}, title), body);

function code_card(t, a) {
  const place = h("div"), views = [
    ["Code", () => a.code ? code(a.code, "The code") : h("p", {}, "The reply has no program.")]
  ];
  if (t.diff)
    views.push([`Changes since attempt ${t.before}`, () => diff(t.diff)]);
  else if (t.before && t.diff === "")
    views.push([`Changes since attempt ${t.before}`, () => h("p", {}, "The code is the same.")]);
  const ported = a.record && a.record.ported;
  if (typeof ported === "string")
    views.push(["What was verified", () => code(ported, "The program made from the trace")]);
  const buttons =
      views.map(([name, make], i) => h("button", {type: "button", onclick: () => draw(i)}, name));
  function draw(i) {
    chosen.code = views[i][0].split(" ")[0];
    buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(i === k)));
    place.replaceChildren(views[i][1]());
  }
  draw(Math.max(0, views.findIndex(([name]) => name.startsWith(chosen.code))));
  return h(
      "section", {class: "card"}, h("h2", {}, `Attempt ${a.attempt}`),
      views.length > 1 &&
          h("div", {class: "tools", role: "group", "aria-label": "What to show"}, buttons),
      place);
}

function verdict_card(t, a, overview, run) {
  const timing = (a.record && a.record.timing) || {},
        median = (x) => x && x.median.toPrecision(3) + " ms";
  const facts = [
    ["stage", a.stage && words(a.stage)],
    [
      "evidence", a.evidence && a.evidence + {
        E0: ": it compiled",
        E2: ": it passed all trials",
        E3: ": it passed all trials, and the kernels alone computed the result"
      }[a.evidence]
    ],
    [
      "rules of truth",
      overview.runs[run].rules !== overview.rules &&
          `version ${overview.runs[run].rules}; there is version ${overview.rules}`
    ],
    ["rule", a.rule], ["speed-up", a.speedup !== null && times(a.speedup) + " over PyTorch"],
    ["hard to believe", a.implausible && `⚠ ${a.implausible}`],
    [
      "time",
      timing.ms &&
          `${median(timing.ms)}; PyTorch ${median(timing.reference_ms) || "not measured"}` +
              (timing.compile_ms ? `, torch.compile ${median(timing.compile_ms)}` : "")
    ],
    ["the code is that of", a.same_as && `attempt ${a.same_as}`], ["round", String(a.iteration)]
  ];
  return h(
      "section", {class: "card"},
      h("h2", {}, `Attempt ${a.attempt} of ${t.attempts.length}: `, chip(a.verdict)),
      a.error && h("p", {class: "text"}, h("code", {}, a.error)),
      h("dl", {class: "facts"},
        facts.filter((f) => f[1]).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function examples_part(a, run) {
  if (!a.examples.length) return null;
  return part(
      `Examples that the model saw (${a.examples.length})`,
      h("ol", {},
        a.examples.map(
            (x) =>
                h("li", {}, h("a", {href: `#/archive/${run}/${x.entry}`}, x.name),
                  ` (${x.origin || "?"}`,
                  x.cosine === null ? ")" : `, similarity ${x.cosine.toFixed(3)})`))),
      true);
}

const table_part = (title, columns, items) =>
    part(title, scroll_box(title.split(":")[0], table_of(columns, items)));

function trials_part(record) {
  if (!record.trials || !record.trials.length) return null;
  const show = (x) => (x === null || x === undefined ? "–" : Number(x).toPrecision(3));
  return table_part(
      "Trials",
      [
        ["trial", "row", (x, i) => String(i + 1)], ["inputs", "", (x) => x.variant || "–"],
        ["result", "", (x) => x.pass ? "pass" : h("b", {}, "FAIL")],
        ["max abs", "n", (x) => show(x.max_abs)], ["max rel", "n", (x) => show(x.max_rel)],
        ["error ratio", "n", (x) => show(x.error_ratio)], ["allowed", "n", (x) => show(x.bound)]
      ],
      record.trials);
}

const trace_part = (trace) => table_part(
    `Trace: ${count(trace.launches || 0, "launch", "launches")}`,
    [
      ["kernel", "task", (k) => k.name], ["grid", "", (k) => (k.grid || []).join(" × ") || "–"],
      ["launches", "n", (k) => number(k.launches)],
      ["bytes read", "n", (k) => number(k.bytes_read)],
      ["bytes written", "n", (k) => number(k.bytes_written)]
    ],
    trace.kernels || []);

function call_part(c) {
  const sizes =
      (c.prompt || [])
          .map(
              (m) =>
                  part(`${m.role}: ${number(m.text.length)} characters`, words_of(m.text, m.role)));
  return [
    part(
        `Reply (${c.purpose}${c.finish ? ", " + c.finish : ""})`,
        [
          c.error && h("p", {}, c.error),
          c.thought && part("Reasoning", words_of(c.thought, "Reasoning")),
          words_of(c.reply || "(no reply)", "Reply")
        ]),
    sizes.length ? part(`Prompt (${c.purpose})`, sizes) : null
  ];
}

const cost_part = (a) => table_part(
    "Cost",
    [
      ["call", "row", (c) => c.purpose],
      ["tokens in", "n", (c) => number(c.tokens_in) + (c.estimated ? " (estimated)" : "")],
      ["cached", "n", (c) => number(c.tokens_cached)],
      ["tokens out", "n", (c) => number(c.tokens_out)],
      ["reasoning", "n", (c) => number(c.tokens_reasoning)], ["cost", "n", (c) => usd(c.usd_micro)],
      ["time", "n", (c) => (c.wall_us / 1e6).toFixed(1) + " s"]
    ],
    a.calls);
