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

/* The links stay, and with them the focus of a keyboard. */
function show_nav(view) {
  const nav = $("nav"), listed = VIEWS.filter((v) => v[1]);
  if (!nav.firstChild) nav.append(...listed.map((v) => h("a", {href: "#/" + v[0]}, v[1])));
  listed.forEach((v, i) => {
    if (v === view)
      nav.children[i].setAttribute("aria-current", "page");
    else
      nav.children[i].removeAttribute("aria-current");
  });
}

async function draw(moved) {
  const [view, parts] = place(), mine = ++drawing, main = $("main");
  show_nav(view);
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
  const scrolled = [...fields_of(main)]
                       .filter(([, x]) => x.scrollTop || x.scrollLeft)
                       .map(([name, x]) => [name, x.scrollTop, x.scrollLeft]);
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
  const fields = fields_of(main), field = focus && fields.get(focus[0]);
  for (const [name, top, left] of scrolled) {
    const x = fields.get(name);
    if (x) [x.scrollTop, x.scrollLeft] = [top, left];
  }
  if (!field) return;
  field.focus({preventScroll: true});
  if (field.type === "search") field.setSelectionRange(field.value.length, field.value.length);
}

/* What a reader has opened or chosen survives an update. */
const FIELDS = "a, button, select, input, summary, pre, .scroll";
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

/* As far as the verdicts say so. */
function proof(runs) {
  const sum = (key) => runs.reduce((n, r) => n + r[key], 0), solved = sum("solved"),
        proven = sum("proven");
  if (!solved) return "";
  return ` For ${proven === solved ? "each" : `${number(proven)} of ${number(solved)}`} it is ` +
      "proven that the kernels alone computed the result (E3).";
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
            ". A task counts as solved only when its kernel passed every trial.",
            proof(overview.runs))]
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
