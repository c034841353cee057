/* grid.js: every task with its attempts, to sort and filter. */

const ROWS = 100;
const filters = {
  text: "",
  level: "",
  family: "",
  operator: "",
  state: "",
  sort: "task",
  down: false,
  rows: ROWS
};

/* One row per task id, with what each run made of it. */
function grid_rows(grid) {
  const column = Object.fromEntries(grid.columns.map((name, i) => [name, i]));
  const rows = new Map();
  grid.runs.forEach((run, n) => run.tasks.forEach((t) => {
    const id = t[column.task];
    if (!rows.has(id))
      rows.set(id, {
        id,
        level: t[column.level],
        family: t[column.family],
        operators: t[column.operators].map((k) => run.operators[k]),
        runs: []
      });
    rows.get(id).runs[n] = {
      letters: t[column.verdicts],
      solved_at: t[column.solved_at],
      speedup: t[column.speedup],
      doubt: t[column.doubt],
      skipped: t[column.skipped]
    };
  }));
  for (const row of rows.values()) {
    const there = row.runs.filter(Boolean);
    row.solved = there.filter((r) => r.solved_at).length;
    row.of = there.length;
    row.skipped = there.every((r) => r.skipped);
    row.attempts = there.reduce((n, r) => n + r.letters.length, 0);
    row.solved_at = Math.min(...there.map((r) => r.solved_at || Infinity));
    row.speedup = Math.max(...there.map((r) => r.speedup || -1));
  }
  const sorted = [...rows.values()], names = new Intl.Collator("en", {numeric: true});
  sorted.sort((a, b) => names.compare(a.id, b.id)).forEach((row, i) => {
    row.order = i;
  });
  return sorted;
}

const STATE_TESTS = {
  solved: (r) => r.solved === r.of && r.of,
  unsolved: (r) => !r.solved && !r.skipped,
  some: (r) => r.solved && r.solved < r.of,
  skipped: (r) => r.skipped,
};
const SORTS = {
  task: (r) => r.order,
  level: (r) => r.level,
  family: (r) => r.family,
  attempts: (r) => r.attempts,
  solved: (r) => r.solved_at,
  speedup: (r) => r.speedup,
};

function matching(rows) {
  const text = filters.text.toLowerCase(), key = SORTS[filters.sort];
  const found = rows.filter(
      (r) => (!text || r.id.toLowerCase().includes(text) ||
              r.operators.some((o) => o.toLowerCase().includes(text))) &&
          (!filters.level || r.level === filters.level) &&
          (!filters.family || r.family === filters.family) &&
          (!filters.operator || r.operators.includes(filters.operator)) &&
          (!filters.state || STATE_TESTS[filters.state](r)));
  found.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.order - b.order));
  return filters.down ? found.reverse() : found;
}

function choice(name, label, values, changed) {
  if (values.length < 2) return null;
  return h(
      "label", {}, label,
      h("select", {
        id: "filter-" + name,
        onchange: (e) => {
          filters[name] = e.target.value;
          changed();
        }
      },
        h("option", {value: ""}, "all"),
        values.map(
            ([value, text]) => h("option", {value, selected: filters[name] === value}, text))));
}

const distinct = (values) => [...new Set(values)].filter(Boolean).sort().map((x) => [x, x]);

function grid_card(overview, grid) {
  const rows = grid_rows(grid), several = overview.runs.length > 1;
  const timed = rows.some((r) => r.speedup > 0);
  const used = new Set(overview.verdicts.filter((v) => overview.runs.some((r) => r.verdicts[v]))
                           .map((v) => group_of(v).key));
  const body = h("tbody"), told = h("p", {class: "small soft", role: "status"}), head = h("tr");
  const more =
      h("button", {
        type: "button",
        onclick: () => {
          filters.rows += 5 * ROWS;
          draw();
        }
      },
        "Show more tasks");
  const leveled = distinct(rows.map((r) => r.level)).length > 1;
  const columns = [
    ["task", "task"], ...(leveled ? [["level", "level", "wide"]] : []), ["family", "kind", "wide"],
    ...(several ? overview.runs.map((r) => [null, r.label]) : [["attempts", "attempts"]]),
    ...(several ? [] : [["solved", "solved at", "n"]]),
    ...(timed ? [["speedup", several ? "best speed-up" : "speed-up", "n"]] : [])
  ];
  function draw() {
    const found = matching(rows);
    head.replaceChildren(...columns.map(
        ([key, text, kind]) =>
            h("th", {
              scope: "col",
              class: kind || null,
              "aria-sort":
                  key && filters.sort === key ? (filters.down ? "descending" : "ascending") : null
            },
              key ? h("button", {
                type: "button",
                onclick: () => {
                  filters.down = filters.sort === key && !filters.down;
                  filters.sort = key;
                  draw();
                  head.children[columns.findIndex((c) => c[0] === key)]
                      .querySelector("button")
                      .focus();
                }
              },
                      text) :
                    text)));
    body.replaceChildren(
        ...found.slice(0, filters.rows).map((r) => grid_row(r, overview, leveled, timed)));
    told.textContent = `${count(found.length, "task")}${
                           found.length < rows.length ? ` of ${number(rows.length)}` : ""}` +
        (found.length > filters.rows ? `, the first ${number(filters.rows)} shown` : "") + ".";
    more.hidden = found.length <= filters.rows;
  }
  const changed = () => {
    filters.rows = ROWS;
    draw();
  };
  draw();
  return h(
      "section", {class: "card"}, h("h2", {}, "Every task, attempt by attempt"),
      h("p", {class: "soft small"},
        "A square is an attempt, from the first to the last. Choose one to see its code and what came of it."),
      legend(used),
      h("div", {class: "tools"}, h("input", {
          type: "search",
          placeholder: "task or operator",
          "aria-label": "Filter by task or operator",
          id: "filter-text",
          value: filters.text,
          oninput: (e) => {
            filters.text = e.target.value;
            changed();
          }
        }),
        choice(
            "state", "state",
            [
              ["solved", several ? "solved by all" : "solved"],
              ...(several ? [["some", "solved by some"]] : []),
              ["unsolved", several ? "solved by none" : "unsolved"], ["skipped", "skipped"]
            ],
            changed),
        choice("level", "level", distinct(rows.map((r) => r.level)), changed),
        choice("family", "kind", distinct(rows.map((r) => r.family)), changed),
        choice("operator", "operator", distinct(rows.flatMap((r) => r.operators)), changed)),
      told,
      h("div", {class: "scroll"},
        h("table", {class: "grid", id: "grid"}, h("thead", {}, head), body)),
      more);
}

function grid_row(row, overview, leveled, timed) {
  const first = row.runs.findIndex(Boolean);
  const strip = (r, n) =>
      h("td", {},
        !r            ? "–" :
            r.skipped ? h("span", {class: "soft small"}, "skipped: " + r.skipped) :
            r.letters ? cells(n, row.id, r.letters, overview.verdicts) :
                        h("span", {class: "soft small"}, "not tried yet"));
  return h(
      "tr", {}, h("td", {class: "task"}, h("a", {href: task_link(first, row.id)}, row.id)),
      leveled && h("td", {class: "wide"}, row.level), h("td", {class: "wide"}, row.family),
      overview.runs.map((r, n) => strip(row.runs[n], n)),
      overview.runs.length === 1 && h("td", {class: "n"}, row.solved ? String(row.solved_at) : "–"),
      timed &&
          h("td", {class: "n"}, row.speedup > 0 ? times(row.speedup) : "–",
            row.runs.some((r) => r && r.doubt) && doubt_mark()));
}
