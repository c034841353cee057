/* overview.js: what happened, in a sentence, figures and curves. */

const AXES = {
  per_task: {name: "attempts per task", whole: true, format: number},
  attempts: {name: "attempts in all", whole: true, format: short},
  usd: {name: "dollars", format: (x) => "$" + (x < 1 ? x.toFixed(2) : short(x))},
  tokens: {name: "tokens", whole: true, format: short},
  time: {name: "time since the first call", format: duration},
};

function curve_points(run, axis) {
  if (axis === "per_task") return [[0, 0], ...run.by_attempt.map((n, i) => [i + 1, n])];
  const column = {attempts: 0, usd: 2, tokens: 3, time: 4}[axis];
  return [[0, 0], ...run.curve.map((p) => [axis === "usd" ? p[2] / 1e6 : p[column], p[1]])];
}

const tried = (run) => run.tasks - run.skipped;
/* What the reader chose last; it survives an update. */
const chosen = {
  axis: "per_task",
  mix: 0,
  code: "Code"
};

function curve_card(overview) {
  const runs = overview.runs;
  const paid = runs.some((r) => r.usd_micro > 0);
  const axes = ["per_task", "attempts", paid ? "usd" : "tokens", "time"];
  const place = h("div");
  const buttons =
      axes.map((axis) => h("button", {type: "button", onclick: () => draw(axis)}, AXES[axis].name));
  function draw(axis) {
    chosen.axis = axis;
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(axes[i] === axis)));
    const total = Math.max(...runs.map(tried));
    place.replaceChildren(step_chart({
      title: `Tasks solved against ${AXES[axis].name}`,
      about:
          runs.map((r) => `${r.label}: ${r.solved} of ${tried(r)} tasks solved`).join("; ") + ".",
      x_name: AXES[axis].name,
      y_name: "tasks",
      goal: total,
      format: AXES[axis].format,
      whole: AXES[axis].whole,
      series: runs.map((r) => ({label: r.label, points: curve_points(r, axis)})),
    }));
  }
  draw(axes.includes(chosen.axis) ? chosen.axis : "per_task");
  return h(
      "section", {class: "card"}, h("h2", {}, "Tasks solved"),
      h("div", {class: "tools", role: "group", "aria-label": "What the curve is drawn against"},
        buttons),
      runs.length > 1 &&
          swatches(runs.map(
              (r, i) => [run_colour(i), `${r.label}: ${number(r.solved)} of ${number(tried(r))}`])),
      place);
}

function mix_card(overview) {
  const runs = overview.runs.filter((r) => r.rounds.length);
  const used = new Set(
      overview.verdicts.filter((v) => runs.some((r) => r.verdicts[v])).map((v) => group_of(v).key));
  const place = h("div");
  const pick = runs.length > 1 &&
      h("select", {"aria-label": "Run", onchange: (e) => draw(Number(e.target.value))},
        runs.map((r, i) => h("option", {value: i, selected: i === chosen.mix}, r.label)));
  const draw = (i) => {
    chosen.mix = i;
    place.replaceChildren(
        runs[i] ? mix_chart(runs[i], overview.verdicts) :
                  h("p", {class: "soft"}, "No attempt is finished yet."));
  };
  draw(runs[chosen.mix] ? chosen.mix : 0);
  return h(
      "section", {class: "card"}, h("h2", {}, "How attempts ended, round by round"),
      pick && h("div", {class: "tools"}, pick), legend(used), place);
}

function tile(value, name, extra) {
  return h("div", {class: "tile"}, h("b", {}, value), h("span", {}, name), extra || null);
}

function spend_tile(run) {
  if (run.usd_micro || run.cap_usd_micro !== null) {
    const cap = run.cap_usd_micro;
    return tile(
        usd(run.usd_micro), cap === null ? "spent" : `spent of ${usd(cap)}`,
        cap !== null &&
            h("progress", {max: cap, value: run.usd_micro, "aria-label": "Budget used"}));
  }
  const cap = run.cap_tokens, tokens = run.tokens_in + run.tokens_out;
  return tile(
      short(tokens),
      (run.estimated ? "tokens, estimated" : "tokens") + (cap === null ? "" : ` of ${short(cap)}`),
      cap !== null && h("progress", {max: cap, value: tokens, "aria-label": "Budget used"}));
}

/* A replayed run pays nothing, and its time says nothing about the model's. */
const replayed = (run) => run.provider === "replay";

function cost(run) {
  if (run.usd_micro) return usd(run.usd_micro);
  return replayed(run) ? "replayed" : "–";
}

function tiles(run) {
  return h(
      "div", {class: "tiles"},
      tile(`${number(run.solved)} / ${number(tried(run))}`, "tasks solved"),
      run.pieces ?
          tile(
              `${number(run.pieces.solved)} / ${number(run.pieces.total - run.pieces.skipped)}`,
              "pieces solved") :
          null,
      tile(
          number(run.attempts),
          run.attempts_per_task ? `attempts, at most ${number(run.attempts_per_task)} per task` :
                                  "attempts"),
      spend_tile(run),
      tile(
          duration(run.seconds),
          replayed(run) ?
              "to replay it" :
              run.attempts_per_minute ?
              `at work, ${run.attempts_per_minute.toPrecision(2) * 1} attempts per minute` :
              "at work"),
      tile(number(run.entries - run.seeds), "kernels in the archive"),
      run.seconds_left !== null ? tile("≤ " + duration(run.seconds_left), "left") : null,
      run.lanes !== null ? tile(number(run.lanes), "candidates at once") : null);
}

function runs_table(overview) {
  const columns = [
    ["run", "row", (r) => r.label],
    ["solved", "n", (r) => `${number(r.solved)} of ${number(tried(r))}`],
    ["attempts", "n", (r) => number(r.attempts)],
    ["tokens", "n", (r) => short(r.tokens_in + r.tokens_out)], ["cost", "n", cost],
    ["time", "n", (r) => replayed(r) ? "–" : duration(r.seconds)],
    ["model", "", (r) => r.model || "–"], ["language", "", (r) => r.dsl || "–"],
    ["precision", "", (r) => r.precision || "–"], ["device", "", (r) => r.device || "–"],
    ["state", "", (r) => r.state || "–"]
  ];
  return h(
      "section", {class: "card"}, h("h2", {}, "Runs"),
      scroll_box("Runs", table_of(columns, overview.runs)));
}

function why_card(overview, clusters) {
  const parts =
      overview.runs.map(
          (run, n) => {
            const why = run.unsolved, left = tried(run) - run.solved;
            const title = overview.runs.length > 1 ? h("h3", {}, run.label) : null;
            if (!left) return h("div", {}, title, h("p", {}, "Every task is solved."));
            const kinds = Object.entries(why.verdicts).sort((a, b) => b[1] - a[1]);
            const most = Math.max(...why.errors.map((x) => x.tasks), 1);
            const sample = (x) =>
                clusters && clusters.runs[n].clusters.find((c) => c.error === x.error);
            return h(
        "div", {}, title,
        h("p", {}, `${count(left, "task is", "tasks are")} unsolved. Their last attempts: `,
          kinds.map(([v, k], i) => [i ? ", " : "", `${number(k)} `, chip(v)]),
          why.untried ?
              `${kinds.length ? ", " : ""}${number(why.untried)} without a finished attempt` :
              "",
          "."),
        why.errors.length ?
            h("div", {class: "scroll"}, table_of([
              ["tasks", "n count", (x) => [number(x.tasks), " ", meter(x.tasks / most)]],
              ["outcome", "", (x) => chip(x.verdict)],
              ["first line of the error", "error", (x) => sample(x) ? h("a", {href: task_link(n, sample(x).task, sample(x).attempt)}, x.error) : x.error]
            ], why.errors, {caption: "The most common errors of the last attempts", look: "stack"})) :
            null);
          });
  return h(
      "section", {class: "card"}, h("h2", {}, "Why tasks are unsolved"), parts,
      h("p", {class: "small"}, h("a", {href: "#/failures"}, "All failed attempts, by error")));
}

function meter(share) {
  const bar = h("span", {class: "meter", "aria-hidden": "true"});
  bar.style.width = `${Math.round(40 * share)}px`;
  return bar;
}

function doubts_note(overview) {
  const doubts = overview.runs.reduce((n, r) => n + r.implausible, 0);
  return doubts > 0 &&
      h("p", {class: "note"},
        `${count(doubts, "speed-up is", "speed-ups are")} hard to believe: see `,
        h("a", {href: "#/kernels"}, "Kernels"), ".");
}

const STATES = {
  running: "in progress",
  finished: "finished"
};

async function show_overview() {
  const [overview, grid] = await Promise.all([load("overview"), load("grid")]);
  const clusters =
      overview.runs.some((r) => r.unsolved.errors.length) ? await load("clusters") : null;
  const run = overview.runs[0], one = overview.runs.length === 1;
  return [
    one ? h("h1", {},
            [
              run.dsl, run.method, run.model, run.device, run.precision,
              STATES[run.state] || run.state
            ].filter(Boolean)
                .join(" · ")) :
          h("h1", {}, "Runs compared"),
    h("p", {class: "lead"}, overview.headline), doubts_note(overview),
    one ? tiles(run) : runs_table(overview), ...await workers_cards(overview),
    h("div", {class: "two"}, curve_card(overview), mix_card(overview)), grid_card(overview, grid),
    why_card(overview, clusters)
  ];
}
