/* frame.js: which view is shown, themes, and updates from the server. */

const VIEWS = [
  ["", "Overview", show_overview], ["failures", "Failures", show_failures],
  ["kernels", "Kernels", show_kernels], ["archive", "Archive", show_archive],
  ["task", null, show_task]
];
let shown_route = null, drawing = 0;

function place() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map((x) => {
    try {
      return decodeURIComponent(x);
    } catch {
      return x;
    }
  });
  return [VIEWS.find((v) => v[0] === parts[0]) || VIEWS[0], parts.slice(1)];
}

async function draw(moved) {
  const [view, parts] = place(), mine = ++drawing, main = $("main");
  $("nav").replaceChildren(
      ...VIEWS.filter((v) => v[1])
          .map(
              (v) =>
                  h("a", {href: "#/" + v[0], "aria-current": v === view ? "page" : null}, v[1])));
  let body;
  try {
    body = await view[2](...parts);
  } catch (problem) {
    if (!moved && main.querySelector("h1")) return;
    body = [h("h1", {}, "This could not be shown"), h("p", {class: "note"}, problem.message)];
  }
  if (mine !== drawing) return;
  const next = fill(document.createElement("main"), {}, [body]);
  if (!moved) keep_open(main, next);
  if (!moved && same_children(main, next)) return;
  const focus = [...fields_of(main)].find(([, node]) => node === document.activeElement),
        at = scrollY;
  tip(null, "");
  main.replaceChildren(...next.childNodes);
  const title = main.querySelector("h1");
  document.title = plain(`${title ? title.textContent : "Monkeys"} · monkeys`);
  shown_route = location.hash;
  if (moved) {
    scrollTo(0, 0);
    main.focus({preventScroll: true});
    return;
  }
  scrollTo(0, at);
  const field = focus && fields_of(main).get(focus[0]);
  if (!field) return;
  field.focus({preventScroll: true});
  if (field.type === "search") field.setSelectionRange(field.value.length, field.value.length);
}

/* What a reader has opened or chosen survives an update. */
const FIELDS = "a, button, select, input, summary, pre";
/* Each node of a list with a name: its text, and how often it came before. */
function named(nodes, text_of) {
  const seen = new Map(), names = new Map();
  for (const node of nodes) {
    const text = node.id || node.tagName + text_of(node), n = seen.get(text) || 0;
    seen.set(text, n + 1);
    names.set(`${text} ${n}`, node);
  }
  return names;
}
const fields_of = (root) =>
    named(root.querySelectorAll(FIELDS), (x) => x.getAttribute("href") || x.textContent);
const details_of = (root) =>
    named(root.querySelectorAll("details"), (x) => x.firstChild.textContent);
function keep_open(from, to) {
  const before = details_of(from);
  for (const [name, node] of details_of(to))
    if (before.has(name)) node.open = before.get(name).open;
}
function same_children(a, b) {
  return a.childNodes.length === b.childNodes.length &&
      [...a.childNodes].every((x, i) => x.isEqualNode(b.childNodes[i]));
}

function themes() {
  const button = $("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen_theme = null;
  try {
    chosen_theme = localStorage.getItem("theme");
  } catch { /* a file may have no storage */
  }
  const set = () => {
    const theme = chosen_theme || (dark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use the ${theme === "dark" ? "light" : "dark"} theme`);
  };
  button.addEventListener("click", () => {
    chosen_theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", chosen_theme);
    } catch { /* it holds for this visit */
    }
    set();
  });
  dark.addEventListener("change", set);
  set();
}

/* New rows: what is shown is requested again, at most every two seconds and
 * never before the last answer has come. */
function follow() {
  const live = $("live");
  let events = null, waiting = false, last = 0, ended = false;
  const say = (on, text) => {
    live.className = on;
    live.textContent = text;
  };
  async function renew() {
    waiting = false;
    const start = performance.now();
    for (const key of Object.keys(cache)) delete cache[key];
    await draw(false);
    last = performance.now() + 3 * (performance.now() - start);
  }
  async function changed(e) {
    const shown = cache.overview && await cache.overview.catch(() => null);
    if (waiting || ended || (shown && shown.live === JSON.parse(e.data).version)) return;
    waiting = true;
    setTimeout(() => ended || renew(), Math.max(0, last + 2000 - performance.now()));
  }
  /* A browser keeps few connections to one server, so a page that nobody sees leaves its own to others. */
  function open() {
    if (events || ended || document.hidden) return;
    events = new EventSource("/api/events");
    events.addEventListener("open", () => say("on", "live"));
    events.addEventListener("error", () => say("off", "not connected"));
    events.addEventListener("change", changed);
    events.addEventListener("end", async () => { /* it waits a moment for the last requests */
                                                 ended = true;
                                                 await renew();
                                                 close();
                                                 say("off", "the server has ended");
    });
  }
  function close() {
    if (events) events.close();
    events = null;
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

async function foot() {
  const overview = await load("overview"), left = inlined && inlined.left_out;
  $("foot").replaceChildren(
      ...[left && left.attempts ? h("p", {},
                                    `To keep this file small, the details of ${
                                        count(left.attempts, "attempt")} were left out; ` +
                                        `those of ${number(left.kept)} are here.`) :
                                  null,
          h("p", {},
            `Made by monkeys ${overview.version} on ${
                new Date(overview.at / 1000).toISOString().slice(0, 10)} from `,
            overview.runs.map((r, i) => [i ? ", " : "", h("code", {}, r.run)]),
            ". A task counts as solved only when its kernel passed every trial " +
                "on inputs that nobody could know before, and the kernels alone computed the result.")]
          .filter(Boolean));
}

addEventListener("hashchange", () => {
  if (location.hash === "#main")
    return history.replaceState(null, "", shown_route || "#/"), $("main").focus();
  draw(true);
});
themes();
draw(false);
foot().catch(() => {});
if (!inlined) follow();
