/* workers.js: who verifies for a run, where workers connect to it. */

const WORKER_STATES = ["busy", "idle", "fenced", "lost", "left"];

/* "3 busy, 1 lost" */
function workers_line(workers) {
  const counts = WORKER_STATES.map((s) => [workers.filter((w) => w.state === s).length, s])
                     .filter((x) => x[0]);
  return counts.map(([n, s]) => `${number(n)} ${s}`).join(", ");
}

function workers_part(run, told, several) {
  if (!told.workers.length) return null;
  const ago = (us) => duration(Math.max(0, told.at - us) / 1e6);
  const state = (w) => {
    const tasks = w.tasks || [], more = tasks.length - 1;
    return w.state + (tasks.length ? `: ${tasks[0]}` : "") +
        (more > 0 ? ` and ${number(more)} more` : "");
  };
  const [table, more] = table_of(
      [
        ["host", "row", (w) => w.host],
        ["process", "", (w) => w.name.slice(w.host.length + 1) || "–"],
        ["device", "", (w) => w.device || "–"], ["state", "", state],
        ["since", "n", (w) => ago(w.since)], ["verdicts", "n", (w) => number(w.verdicts)],
        ["refused", "n", (w) => number(w.refused)], ["truths", "n", (w) => number(w.truths)],
        [
          "memory", "n",
          (w) => w.memory_bytes ? `${bytes(w.taken_bytes)} of ${bytes(w.memory_bytes)}` : "–"
        ],
        ["heard", "n", (w) => ago(w.heard) + " ago"]
      ],
      told.workers);
  const name = several ? `Workers of ${run.label}` : "Workers";
  return h(
      "section", {class: "card", "data-card": "workers"}, h("h2", {}, name),
      h("p", {}, workers_line(told.workers) + "."), scroll_box(name, table), more);
}

/* Nothing for runs without workers of that kind. */
async function workers_cards(overview) {
  if (!overview.runs.some((r) => r.workers)) return [];
  const told = await load("workers");
  return overview.runs.map(
      (r, i) => workers_part(r, told.runs[i] || {workers: []}, overview.runs.length > 1));
}
