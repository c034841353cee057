/* results.js: what went wrong, and how good the kernels are. */

/* ---- failures ---- */

async function show_failures() {
  const [overview, clusters] = await Promise.all([load("overview"), load("clusters")]);
  return [
    h("h1", {}, "Failures"), h("p", {class: "lead"}, "What went wrong, the most common first."),
    h("p", {class: "soft"},
      "Errors that differ only in figures, quoted names and brackets are counted together."),
    clusters.runs.map((run, n) => failures_card(overview, run, n))
  ];
}

function failures_card(overview, run, n) {
  const title = overview.runs.length > 1 ? overview.runs[n].label : "Failed attempts";
  if (!run.clusters.length)
    return h("section", {class: "card"}, h("h2", {}, title), h("p", {}, "No attempt has failed."));
  const most = run.clusters[0].attempts;
  return h(
      "section", {class: "card"}, h("h2", {}, title),
      h("p", {class: "soft"},
        `${count(run.failed, "attempt")} failed with ${count(run.kinds, "kind")} of errors` +
            (run.kinds > run.clusters.length ?
                 `; the ${run.clusters.length} most common are listed.` :
                 ".")),
      h("div", {class: "scroll"},
        table_of(
            [
              ["attempts", "n count", (c) => [number(c.attempts), " ", meter(c.attempts / most)]],
              ["tasks", "n wide", (c) => number(c.tasks)],
              ["solved later", "n wide", (c) => number(c.solved)],
              ["outcome", "", (c) => chip(c.verdict)],
              [
                "first line of the error; the hint that the model got", "error",
                (c) =>
                    [h("a", {href: task_link(n, c.task, c.attempt)}, c.error || "(no message)"),
                     c.hint && h("div", {class: "hint"}, c.hint)]
              ]
            ],
            run.clusters, {look: "stack"})));
}

/* ---- kernels ---- */

const EDGES = [0, 0.25, 0.5, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10];

async function show_kernels() {
  const [overview, kernels] = await Promise.all([load("overview"), load("kernels")]);
  const column = Object.fromEntries(kernels.columns.map((name, i) => [name, i]));
  const timed = kernels.runs.reduce((n, r) => n + r.timed, 0),
        all = kernels.runs.reduce((n, r) => n + r.kernels.length, 0),
        doubts = kernels.runs.reduce((n, r) => n + r.implausible, 0);
  return [
    h("h1", {}, "Kernels"),
    h("p", {class: "lead"}, `${count(all, "kernel is", "kernels are")} correct. `,
      timed ? kernels.runs
                  .map(
                      (r, n) => r.timed ? `${
                                              overview.runs.length > 1 ?
                                                  overview.runs[n].label + ": median " :
                                                  "Median "}` +
                              `speed-up over PyTorch ${times(r.median)}, geometric mean ${
                                              times(r.geomean)}. ` :
                                          "")
                  .join("") :
              "None of them was timed."),
    doubts > 0 &&
        h("p", {class: "note"},
          `${
              count(
                  doubts, "speed-up is", "speed-ups are")} hard to believe: marked with ⚠ below, ` +
              "with the reason, and counted like the others."),
    !timed &&
        h("p", {class: "soft"}, "Times are measured on a GPU, unless a run says --no-timing."),
    timed ? speed_cards(overview, kernels, column) : null,
    kernels.runs.map(
        (run, n) => kernels_card(overview.runs[n], run, n, column, overview.runs.length > 1))
  ];
}

function speed_cards(overview, kernels, column) {
  const speeds = kernels.runs.flatMap((r) => r.kernels.map((k) => k[column.speedup]))
                     .filter((x) => x !== null);
  const series =
      kernels.runs.map((r, n) => ({
                         label: overview.runs[n].label,
                         points: r.fast_p.filter((p) => p[0] <= 5).map((p) => [p[0], p[1]])
                       }));
  kernels.runs.forEach((r, n) => {
    if (r.fast_p.some((p) => p[2] > 0))
      series.push({
        label: overview.runs[n].label + ", over torch.compile",
        points: r.fast_p.filter((p) => p[0] <= 5).map((p) => [p[0], p[2]])
      });
  });
  return h(
      "div", {class: "half"},
      h("section", {class: "card"}, h("h2", {}, "How fast the kernels are"),
        h("p", {class: "soft small"},
          "Kernels by speed-up over eager PyTorch; those that are slower are grey."),
        histogram(
            "Kernels by speed-up over eager PyTorch", `${count(speeds.length, "kernel")} timed.`,
            "times as fast as PyTorch", EDGES, speeds)),
      h("section", {class: "card"}, h("h2", {}, "fast", h("sub", {}, "p")),
        h("p", {class: "soft small"},
          "The share of all tasks with a correct kernel that is more than p times as fast."),
        swatches(series.map((r, i) => [run_colour(i), r.label])), step_chart({
          title: "fast_p",
          about: "Share of tasks above a speed-up.",
          x_name: "p: speed-up over PyTorch",
          y_name: "",
          series,
          share: 0.5,
          format: (x) => String(Number(x.toFixed(2))),
          smooth: true,
          y_format: percent
        })));
}

function kernels_card(about, run, n, column, several) {
  const peak = run.peak_bytes_per_s;
  const timed = run.timed > 0;
  const rows = [...run.kernels].sort((a, b) => (b[column.speedup] || 0) - (a[column.speedup] || 0));
  const get = (name) => (k) => k[column[name]], some = (x, show) => (x === null ? "–" : show(x));
  const [doubt, rate] = [get("doubt"), get("bytes_per_s")];
  const [kernels, more] = table_of(
      [
        [
          "task", "task",
          (k) =>
              [h("a", {href: task_link(n, get("task")(k), get("attempt")(k))}, get("task")(k)),
               doubt(k) && h("div", {class: "doubt"}, `Hard to believe: ${doubt(k)}.`)]
        ],
        timed && ["over eager", "n", (k) => [times(get("speedup")(k)), doubt(k) && doubt_mark()]],
        timed && ["over compile", "n wide", (k) => times(get("speedup_compile")(k))],
        timed && ["time", "n wide", (k) => some(get("ms")(k), (ms) => ms.toPrecision(3) + " ms")],
        ["launches", "n", (k) => some(get("launches")(k), number)],
        [
          "bytes", "n",
          (k) => some(get("bytes_read")(k), (read) => bytes(read + get("bytes_written")(k)))
        ],
        timed &&
            [
              "bandwidth", "n",
              (k) => some(
                  rate(k),
                  (x) =>
                      [`${bytes(x)}/s`,
                       peak ? [` (${percent(x / peak)}) `, meter(Math.min(1, x / peak))] : ""])
            ]
      ],
      rows);
  return h(
      "section", {class: "card"}, h("h2", {}, several ? about.label : "Every correct kernel"),
      h("p", {class: "soft small"},
        `Launches and bytes are those of one call; bytes are a lower bound from its trace. `,
        timed ? (peak ? `${run.gpu} can move ${bytes(peak)}/s, says its maker.` :
                        `What the memory of ${
                            run.gpu || about.device || "this device"} can do is not known.`) :
                        ""),
      h("div", {class: "scroll"}, kernels), more);
}
