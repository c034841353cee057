/* data.js: where the page's data comes from, and how verdicts look. */

/* ---- data ---- */

const inlined = JSON.parse($("data").textContent.trim() || "null");
const cache = {}, known = {};

/* While the server does not answer, what it said last. */
async function load(view) {
  if (inlined) return inlined[view];
  if (!cache[view])
    cache[view] = fetch_view(view).then((data) => (known[view] = data), (problem) => {
      delete cache[view];
      if (known[view]) return known[view];
      throw problem;
    });
  return cache[view];
}

/* Of the grid only what is new: it is large. */
async function fetch_view(view) {
  const old = known.grid;
  if (view !== "grid" || !old) return fetch_json("/api/" + view);
  const news = await fetch_json("/api/grid?since=" + old.runs.map((run) => run.version).join(","));
  const column = news.columns.indexOf("operators");
  news.runs.forEach((run, n) => {
    const all = old.runs[n].operators;
    const places =
        run.operators.map((name) => (all.includes(name) ? all.indexOf(name) : all.push(name) - 1));
    run.tasks.forEach((task, i) => {
      task[column] = task[column].map((k) => places[k]);
      old.runs[n].tasks[run.places[i]] = task;
    });
    old.runs[n].tasks.length = run.count;
    old.runs[n].version = run.version;
  });
  return old;
}

async function fetch_json(path) {
  const answer = await fetch(path);
  if (!answer.ok)
    throw Object.assign(
        new Error(`${path}: the server answered ${answer.status}`), {status: answer.status});
  return answer.json();
}

/* {task, attempt, …} as /api/task answers; attempt null: not in this report; null: there is no
 * such task or attempt. */
async function load_task(run, id, attempt) {
  if (!inlined)
    return fetch_json(
               `/api/task?run=${run}&id=${encodeURIComponent(id)}` +
               (attempt ? `&attempt=${attempt}` : ""))
        .catch((problem) => {
          if (problem.status === 404) return null;
          throw problem;
        });
  const task = inlined.tasks[`${run}/${id}`];
  if (!task) return null;
  const detail = task.details[attempt || task.best];
  return {...task, attempt: null, ...detail};
}

/* ---- verdicts ---- */

const GROUPS = [
  {key: "good", sign: "✓", name: "correct", verdicts: ["correct"]},
  {
    key: "wrong",
    sign: "≠",
    name: "wrong result",
    verdicts: ["wrong_shape", "wrong_dtype", "not_finite", "wrong_values"]
  },
  {
    key: "run",
    sign: "!",
    name: "fails when run",
    verdicts: ["launch_error", "timeout", "out_of_memory", "crash"]
  },
  {key: "compile", sign: "c", name: "does not compile", verdicts: ["compile_error"]},
  {key: "refused", sign: "×", name: "refused: breaks a rule", verdicts: ["static_reject", "hack"]},
  {key: "none", sign: "∅", name: "no program in the reply", verdicts: ["no_code", "truncated"]},
  {key: "elsewhere", sign: "?", name: "not judged on this device", verdicts: ["not_judged"]},
];
const group_of = (verdict) => GROUPS.find((g) => g.verdicts.includes(verdict)) || GROUPS[5];
const words = (verdict) => String(verdict).replaceAll("_", " ");
const chip = (verdict) => h("span", {class: "chip " + group_of(verdict).key}, words(verdict));

function legend(used) {
  return h(
      "ul", {class: "legend", "aria-label": "What the colours mean"},
      GROUPS.filter((g) => !used || used.has(g.key))
          .map(
              (g) =>
                  h("li", {}, h("span", {class: "cell " + g.key, "aria-hidden": "true"}, g.sign),
                    g.name)));
}

const task_link = (run, id, attempt) =>
    `#/task/${run}/${encodeURIComponent(id)}` + (attempt ? `/${attempt}` : "");

/* The attempts of a task as coloured squares; `letters` as the grid has them. */
function cells(run, id, letters, verdicts, current) {
  const many = letters.length > 30;
  return h("span", {class: "cells"}, [...letters].map((letter, i) => {
    const verdict = verdicts[letter.charCodeAt(0) - 97];
    if (!verdict) return h("span", {class: "cell empty"});
    const g = group_of(verdict), text = `attempt ${i + 1}: ${words(verdict)}`;
    return h(
        "a", {
          class: `cell ${g.key}${many ? " many" : ""}`,
          href: task_link(run, id, i + 1),
          title: text,
          "aria-label": text,
          "aria-current": current === i + 1 ? "true" : null
        },
        g.sign);
  }));
}
