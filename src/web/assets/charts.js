/* charts.js: charts as SVG, each with a table of the same figures. */

/* A chart is drawn as wide as it will be shown, so that its text has one size. */
const width_of = (share) => innerWidth < 900 ?
    Math.min(820, Math.max(290, innerWidth - 52)) :
    Math.round(Math.min(1200, innerWidth - 40) * share - 40);
const run_colour = (i) => `var(--run${i % 6})`;

/* Round numbers from 0 to `most`. */
function ticks(most, whole) {
  if (!(most > 0)) return [0, 1];
  const raw = most / 4, power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map((k) => k * power).find((x) => x >= raw) || 10 * power;
  if (whole) step = most <= 12 ? 1 : Math.max(1, Math.round(step));
  const list = [];
  for (let x = 0; x < most + step * 0.999; x += step) list.push(Number(x.toPrecision(12)));
  return list;
}

function tip(event, text) {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = "";
  put(box, text);
  const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  box.style.left = Math.max(4, x) + "px";
  box.style.top = Math.max(4, event.clientY - box.offsetHeight - 12) + "px";
}

/* A chart with its frame, and the same as a table for those who cannot see it. */
function figure(title, about, width, height, body, table) {
  return h(
      "figure", {},
      s("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${about}`},
        s("title", {}, title), s("desc", {}, about), body),
      h("details", {}, h("summary", {}, "The same as a table"), scroll_box(title, table)));
}

const simple_table = (caption, head, rows) =>
    table_of(head.map((name, i) => [name, i ? "n" : "row", (r) => r[i]]), rows, {caption})[0];

/* What the colours of lines mean: [[colour, text], …] */
const swatches = (list) => h("ul", {class: "legend"}, list.map(([colour, text]) => {
  const swatch = h("span", {class: "swatch"});
  swatch.style.background = colour;
  return h("li", {}, swatch, text);
}));

/* Lines across a chart from `L` to `right`, with their numbers. */
const y_axis = (ys, Y, L, right, format) => ys.flatMap(
    (y) =>
        [s("line", {class: "axis", x1: L, x2: right, y1: Y(y), y2: Y(y)}),
         s("text", {x: L - 8, y: Y(y) + 4, "text-anchor": "end"}, format(y))]);

/* Lines that rise in steps: series = [{label, points: [[x, y]]}]. */
function step_chart(
    {title, about, x_name, y_name, series, goal, format, whole, smooth, y_format, share}) {
  const W = width_of(share || 0.58), H = 300, L = 44, R = 16, T = 14, B = 42;
  const most_x = Math.max(...series.flatMap((r) => r.points.map((p) => p[0])), 0);
  const most_y = Math.max(goal || 0, ...series.flatMap((r) => r.points.map((p) => p[1])));
  const xs = ticks(most_x, whole), ys = ticks(most_y, !y_format).filter((y) => !goal || y <= goal);
  const top_x = Math.max(most_x, 1e-9), top_y = goal ? goal * 1.08 : ys[ys.length - 1] || 1;
  const X = (x) => L + ((W - L - R) * x) / top_x, Y = (y) => H - B - ((H - T - B) * y) / top_y;
  const body = y_axis(ys, Y, L, W - R, y_format || short);
  for (const x of xs.filter((v) => v <= top_x * 1.001))
    body.push(s("text", {x: X(x), y: H - B + 18, "text-anchor": "middle"}, format(x)));
  body.push(s("text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, x_name));
  if (goal)
    body.push(
        s("line", {class: "goal", x1: L, x2: W - R, y1: Y(goal), y2: Y(goal)}),
        s("text", {x: L + 6, y: Y(goal) - 5}, `all ${number(goal)} ${y_name}`));
  series.forEach((r, i) => {
    const at = r.points.map(([x, y]) => [X(x).toFixed(1), Y(y).toFixed(1)]);
    if (!at.length) return;
    const d =
        `M${at[0]}` + at.slice(1).map(([x, y]) => (smooth ? `L${x} ${y}` : `H${x}V${y}`)).join("");
    const line = s("path", {d, fill: "none", "stroke-width": 2.5, "stroke-linejoin": "round"});
    line.style.stroke = run_colour(i);
    const dot = s("circle", {cx: at[at.length - 1][0], cy: at[at.length - 1][1], r: 4});
    dot.style.fill = run_colour(i);
    body.push(line, dot);
  });
  const guide = s("line", {class: "goal", y1: T, y2: H - B, visibility: "hidden"});
  body.push(guide);
  const drawn = figure(
      title, about, W, H, body,
      simple_table(
          title, [x_name, ...series.map((r) => r.label)], table_rows(series, format, y_format)));
  const svg = drawn.querySelector("svg");
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((((event.clientX - box.left) / box.width) * W - L) / (W - L - R)) * top_x;
    if (x < 0 || x > top_x * 1.02) return leave();
    guide.setAttribute("x1", X(x));
    guide.setAttribute("x2", X(x));
    guide.setAttribute("visibility", "visible");
    const at = whole ? Math.round(x) : x;
    tip(event,
        `${format(at)} (${x_name})\n` +
            series
                .map((r) => {
                  const y = value_at(r.points, at);
                  return `${r.label}: ${y_format ? y_format(y) : number(y)}`;
                })
                .join("\n"));
  });
  const leave = () => {
    guide.setAttribute("visibility", "hidden");
    tip(null, "");
  };
  svg.addEventListener("pointerleave", leave);
  return drawn;
}

function value_at(points, x) {
  let y = 0;
  for (const [px, py] of points) {
    if (px > x + 1e-9) break;
    y = py;
  }
  return y;
}

function table_rows(series, format, y_format) {
  const all = [...new Set(series.flatMap((r) => r.points.map((p) => p[0])))].sort((a, b) => a - b);
  const every = Math.ceil(all.length / 40);
  return all.filter((x, i) => i % every === 0 || i === all.length - 1)
      .map((x) => [format(x), ...series.map((r) => (y_format || number)(value_at(r.points, x)))]);
}

/* Attempts by verdict, a column per round. */
function mix_chart(run, verdicts) {
  const W = width_of(0.42), H = 300, L = 44, R = 12, T = 14, B = 42, rounds = run.rounds;
  const sums = rounds.map(
      ([, , counts]) => GROUPS.map(
          (g) => counts.reduce((n, c, i) => n + (g.verdicts.includes(verdicts[i]) ? c : 0), 0)));
  const most = Math.max(1, ...sums.map((r) => r.reduce((a, b) => a + b, 0)));
  const ys = ticks(most, true), top = ys[ys.length - 1];
  const Y = (y) => H - B - ((H - T - B) * y) / top, slot = (W - L - R) / Math.max(1, rounds.length);
  const width = Math.min(slot * 0.72, 90), body = y_axis(ys, Y, L, W - R, short);
  const every = Math.ceil(rounds.length / 12);
  const name = ([a, b]) => (a === b ? String(a) : `${a}–${b}`);
  rounds.forEach((round, i) => {
    const x = L + slot * i + (slot - width) / 2;
    let sum = 0;
    GROUPS.forEach((g, k) => {
      const n = sums[i][k];
      if (!n) return;
      const bar = s("rect", {
        x,
        width,
        y: Y(sum + n),
        height: Math.max(0.5, Y(sum) - Y(sum + n) - 1),
        rx: 2,
        onpointermove: (e) => tip(e, `round ${name(round)}\n${count(n, "attempt")}: ${g.name}`),
        onpointerleave: () => tip(null, "")
      });
      bar.style.fill = `var(--${g.key})`;
      body.push(bar);
      sum += n;
    });
    if (i % every === 0)
      body.push(s("text", {x: x + width / 2, y: H - B + 18, "text-anchor": "middle"}, name(round)));
  });
  body.push(s("text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, "round"));
  const used = GROUPS.filter((g, k) => sums.some((r) => r[k]));
  return figure(
      `Attempts by outcome in each round: ${run.label}`,
      `${count(run.attempts, "attempt")} in ${count(rounds.length, "round")}.`, W, H, body,
      simple_table(
          "Attempts by outcome", ["round", ...used.map((g) => g.name)],
          rounds.map((r, i) => [name(r), ...used.map((g) => number(sums[i][GROUPS.indexOf(g)]))])));
}

/* How many values lie between two edges: a column each, the last without end. */
function histogram(title, about, x_name, edges, values) {
  const W = width_of(0.5), H = 300, L = 44, R = 24, T = 14, B = 42;
  const counts = edges.map(
      (low, i) => values.filter((x) => x >= low && x < (edges[i + 1] || Infinity)).length);
  const range = (i) =>
      (i + 1 < edges.length ? `${edges[i]} to ${edges[i + 1]}` : `${edges[i]} or more`);
  const ys = ticks(Math.max(1, ...counts), true), top = ys[ys.length - 1];
  const Y = (y) => H - B - ((H - T - B) * y) / top, slot = (W - L - R) / edges.length;
  const every = slot < 34 ? 2 : 1, body = y_axis(ys, Y, L, W - R, short);
  counts.forEach((n, i) => {
    body.push(
        s("rect", {
          class: edges[i] < 1 ? "bar slow" : "bar",
          x: L + slot * i + 1,
          width: slot - 2,
          y: Y(n),
          height: H - B - Y(n),
          rx: 2,
          onpointermove: (e) => tip(e, `${range(i)}: ${number(n)}`),
          onpointerleave: () => tip(null, "")
        }),
        i % every === 0 ?
            s("text", {x: L + slot * i, y: H - B + 18, "text-anchor": "middle"}, String(edges[i])) :
            "");
  });
  body.push(s("text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, x_name));
  return figure(
      title, about, W, H, body,
      simple_table(title, [x_name, "count"], counts.map((n, i) => [range(i), number(n)])));
}
