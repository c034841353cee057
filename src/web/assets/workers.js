/* workers.js: who verifies for a run, where workers connect to it. */

const WORKER_STATES = ["busy", "idle", "fenced", "lost", "left"];

/* "3 busy, 1 lost" */
function workers_line(workers) {
  const counts = WORKER_STATES.map((s) => [workers.filter((w) => w.state === s).length, s])
                     .filter((x) => x[0]);
  return counts.map(([n, s]) => `${number(n)} ${s}`).join(", ");
}

function worker_row(w, at) {
  const ago = (us) => duration(Math.max(0, at - us) / 1e6);
  const tasks = w.tasks || [];
  return h(
      "tr", {}, h("th", {scope: "row"}, w.host),
      [
        w.name.slice(w.host.length + 1), w.device,
        w.state + (tasks.length ? `: ${tasks[0]}` : "") +
            (tasks.length > 1 ? ` and ${number(tasks.length - 1)} more` : "")
      ].map((x) => h("td", {}, x || "–")),
      [
        ago(w.since), number(w.verdicts), number(w.refused), number(w.truths),
        w.memory_bytes ? `${bytes(w.taken_bytes)} of ${bytes(w.memory_bytes)}` : "–",
        ago(w.heard) + " ago"
      ].map((x) => h("td", {class: "n"}, x)));
}

function workers_part(run, told, several) {
  if (!told.workers.length) return null;
  const [body, more] = rows_of(told.workers, (w) => worker_row(w, told.at));
  const name = several ? `Workers of ${run.label}` : "Workers";
  return h(
      "section", {class: "card", "data-card": "workers"}, h("h2", {}, name),
      h("p", {}, workers_line(told.workers) + "."),
      scroll_box(
          name,
          h("table", {},
            h("thead", {},
              h("tr", {},
                ["host", "process", "device", "state"].map((x) => h("th", {scope: "col"}, x)),
                ["since", "verdicts", "refused", "truths", "memory", "heard"].map(
                    (x) => h("th", {scope: "col", class: "n"}, x)))),
            body)),
      more);
}

/* Nothing for runs without workers of that kind. */
async function workers_cards(overview) {
  if (!overview.runs.some((r) => r.workers)) return [];
  const told = await load("workers");
  return overview.runs.map(
      (r, i) => workers_part(r, told.runs[i] || {workers: []}, overview.runs.length > 1));
}
