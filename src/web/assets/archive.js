/* archive.js: the archive, and which example led to which kernel. */

const NODES = 120;

async function show_archive(run_word, entry_word) {
  const [overview, archive, grid] =
      await Promise.all([load("overview"), load("archive"), load("grid")]);
  const run = Number(run_word || 0), entries = (archive.runs[run] || archive.runs[0]).entries;
  const picked = entries.find((x) => x.entry === Number(entry_word));
  const seeds = entries.filter((x) => x.origin !== "run").length;
  const shown = overview.runs.some((r) => r.method === "monkeys" || r.method === "combined");
  return [
    h("h1", {}, "Archive"),
    h("p", {class: "lead"},
      `${count(entries.length - seeds, "kernel")} of this run joined ${
          count(seeds, "example")} that it began with.`),
    overview.runs.length > 1 &&
        h("div", {class: "tools"},
          overview.runs.map(
              (r, i) =>
                  h("a", {
                    class: "chip",
                    href: `#/archive/${i}`,
                    "aria-current": i === run ? "page" : null
                  },
                    r.label))),
    picked && entry_card(entries, picked, run, grid),
    h("section", {class: "card"}, h("h2", {}, "Lineage, from the seeds outward"),
      h("p", {class: "soft small"},
        "A line joins an example with the kernel that was written by a model that saw it. Larger circles were shown more often.",
        shown ? "" : " This method shows only the examples it began with."),
      lineage(entries, picked, run)),
    entries_card(entries, run, picked)
  ];
}

function entry_card(entries, x, run, grid) {
  const by_number = (n) => entries.find((e) => e.entry === n);
  const link = (n) =>
      h("a", {href: `#/archive/${run}/${n}`}, by_number(n) ? by_number(n).name : String(n));
  const led = entries.filter((e) => e.parents.includes(x.entry));
  const id = (task) => (grid.runs[run].tasks[task] || ["?"])[0];
  const list = (items) => items.length ? items.map((e, i) => [i ? ", " : "", e]) : "none";
  return h(
      "section", {class: "card"}, h("h2", {}, x.name),
      h("dl", {class: "facts"}, h("dt", {}, "origin"),
        h("dd", {},
          x.origin === "run" ?
              [
                "attempt ",
                h("a", {href: task_link(run, x.name, x.attempt)}, `${x.attempt} of ${x.name}`)
              ] :
              x.origin,
          x.left ? ` (left the archive at version ${x.left})` : ""),
        h("dt", {}, "its examples"), h("dd", {}, list(x.parents.map(link))), h("dt", {}, "shown"),
        h("dd", {}, `${count(x.shown, "time")}; ${count(x.solved, "attempt")} then succeeded`),
        h("dt", {}, "solves that followed"), h("dd", {}, list(led.map((e) => link(e.entry)))),
        h("dt", {}, "where it was shown"),
        h("dd", {},
          list(x.places.map(
              ([task, attempt, good]) =>
                  h("a", {href: task_link(run, id(task), attempt)},
                    `${id(task)} ${attempt}${good ? " ✓" : ""}`))),
          x.shown > x.places.length ? ` and ${x.shown - x.places.length} more` : "")));
}

function lineage(entries, picked, run) {
  const nodes = entries.length <= NODES ? entries : [
    ...entries
  ].sort((a, b) => b.shown - a.shown).slice(0, NODES).sort((a, b) => a.entry - b.entry);
  const depth = Math.max(...nodes.map((x) => x.depth), 0), layers = [];
  for (const x of nodes) (layers[x.depth] = layers[x.depth] || []).push(x);
  const tallest = Math.max(...layers.map((l) => (l || []).length), 1), wide = tallest > 14;
  const H = Math.max(140, tallest * (wide ? 18 : 26) + 50),
        most = Math.max(1, ...nodes.map((x) => x.shown));
  const W = width_of(1), at = {}, column = (W - 40) / (depth + 1);
  layers.forEach((l, d) => (l || []).forEach((x, i) => {
    at[x.entry] = [20 + column * d + 10, 34 + ((H - 46) * (i + 0.5)) / l.length];
  }));
  const edges = [], dots = [];
  for (const x of nodes)
    for (const p of x.parents) {
      if (!at[p] || !at[x.entry]) continue;
      const [x1, y1] = at[p], [x2, y2] = at[x.entry], m = (x1 + x2) / 2;
      const on = picked && (picked.entry === p || picked.entry === x.entry);
      edges.push(
          s("path",
            {class: on ? "edge on" : "edge", d: `M${x1} ${y1}C${m} ${y1} ${m} ${y2} ${x2} ${y2}`}));
    }
  const room = Math.max(4, Math.floor((column - 34) / 6));
  for (const x of nodes) {
    const [cx, cy] = at[x.entry], r = 4 + 5 * Math.sqrt(x.shown / most),
               name = x.name.split("/").pop();
    const kind = x.origin !== "run" ? "seed" : x.solved ? "kernel" : "idle";
    const text = `${x.name}: shown ${count(x.shown, "time")}, ${x.solved} solved then`;
    dots.push(
        s("a", {
          href: `#/archive/${run}/${x.entry}`,
          "aria-label": text,
          onpointermove: (e) => tip(e, text),
          onpointerleave: () => tip(null, "")
        },
          s("circle", {class: `node ${kind}${x === picked ? " on" : ""}`, cx, cy, r: r.toFixed(1)}),
          s("text", {x: cx + r + 4, y: cy + 4},
            name.length > room ? name.slice(0, room) + "…" : name)));
  }
  const heads = layers.map(
      (l, d) =>
          s("text", {class: "label", x: 20 + column * d, y: 14},
            d ? (column > 90 ? `step ${d}` : String(d)) : "start"));
  return h(
      "div", {}, swatches([
        ["var(--accent)", "an example from the start"],
        ["var(--good)", "a kernel that led to a solve"],
        ["var(--none)", "a kernel that did not, so far"]
      ]),
      nodes.length < entries.length &&
          h("p", {class: "small soft"},
            `The ${NODES} that were shown most, of ${number(entries.length)}.`),
      h("div", {class: "scroll"},
        s("svg", {
          viewBox: `0 0 ${W} ${H}`,
          role: "group",
          "aria-label": "Lineage of the archive; the table below has the same."
        },
          edges, heads, dots)));
}

function entries_card(entries, run, picked) {
  const rows = [...entries].sort((a, b) => b.shown - a.shown || a.entry - b.entry);
  const [table, more] = table_of(
      [
        ["name", "task", (x) => h("a", {href: `#/archive/${run}/${x.entry}`}, x.name)],
        ["origin", "wide", (x) => x.origin], ["step", "n wide", (x) => String(x.depth)],
        ["shown", "n", (x) => number(x.shown)], ["solved then", "n", (x) => number(x.solved)],
        ["share", "n wide", (x) => x.shown ? percent(x.solved / x.shown) : "–"]
      ],
      rows, {current: (x) => x === picked});
  return h(
      "section", {class: "card"}, h("h2", {}, "Every entry"), h("div", {class: "scroll"}, table),
      more);
}
