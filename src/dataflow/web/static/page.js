// What is live on a page: parts that follow the store, the log of a run, and the keyboard. Pages read well without it.
"use strict";

const SETTLE_MS = 400;
const PATIENCE = 20; // a page that takes long is fetched less often
const RETRY_MS = 2000;

// Parts with data-live are replaced by those of the same page, fetched again, when something changes.

let pending = 0;
let loading = false;
let again = false;
let tookMs = 0;

async function refresh() {
  pending = 0;
  if (loading) { again = true; return; }
  loading = true;
  const startedMs = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.status >= 500) { showConnection(false); setTimeout(follow, RETRY_MS); return; }
    if (!answer.ok || answer.redirected) { location.reload(); return; } // redirected: the session has ended
    showConnection(true);
    const text = await answer.text();
    tookMs = performance.now() - startedMs;
    replaceParts(new DOMParser().parseFromString(text, "text/html"));
  } catch {
    showConnection(false);
    setTimeout(follow, RETRY_MS);
  } finally {
    loading = false;
    if (again) { again = false; follow(); }
  }
}

function replaceParts(fresh) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (!other || other.innerHTML === part.innerHTML || part.contains(focusedField())) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    part.replaceChildren(...other.childNodes);
    if (focused) document.getElementById(focused)?.focus();
  }
}

function focusedField() {
  const found = document.activeElement;
  return found && /^(INPUT|TEXTAREA|SELECT)$/.test(found.tagName) ? found : null;
}

function follow() {
  if (!pending) pending = setTimeout(refresh, Math.max(SETTLE_MS, PATIENCE * tookMs));
}

function showConnection(isFine) {
  const bar = document.getElementById("connection");
  bar.classList.toggle("lost", !isFine);
  bar.textContent = isFine ? "" : "The server or its store does not answer. This page shows the last known state and will reconnect.";
}

function listen() {
  if (!document.querySelector("[data-live]")) return;
  const events = new EventSource("/api/v1/events");
  events.addEventListener("hello", follow); // what changed since the page was made
  events.addEventListener("change", follow);
  events.addEventListener("reload", follow);
  events.addEventListener("store", (event) => {
    const { reachable } = JSON.parse(event.data);
    showConnection(reachable);
    if (reachable) follow();
  });
  events.addEventListener("error", () => showConnection(false));
  addEventListener("pagehide", () => events.close());
}

// The log of a run: more of it is fetched from where it ended; it follows until one scrolls up.

function followLog(log) {
  let offset = Number(log.dataset.next);
  let isEnded = log.dataset.ended === "true";
  let isFollowing = log.dataset.follow === "true";
  log.addEventListener("scroll", () => {
    isFollowing = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
  });
  if (isFollowing && !location.hash) log.scrollTop = log.scrollHeight;
  log.addEventListener("click", (event) => linkLine(log, event));
  async function more() {
    try {
      const answer = await fetch(`${log.dataset.source}?offset=${offset}`, { cache: "no-store" });
      if (answer.ok) {
        const { text, next, is_running: isRunning } = await answer.json();
        if (text) { log.append(text); shorten(log); }
        if (isFollowing) log.scrollTop = log.scrollHeight;
        isEnded = !isRunning && next === offset;
        offset = next;
      }
    } catch { /* the bar above says it */ }
    if (!isEnded) setTimeout(more, 1000);
  }
  if (!isEnded) setTimeout(more, 500);
}

function linkLine(log, event) { // the address of the page becomes that of the line
  const line = event.target.closest(".line");
  if (!line || String(getSelection())) return;
  log.querySelector(".hit")?.classList.remove("hit");
  line.classList.add("hit");
  history.replaceState(null, "", `?offset=${log.dataset.start}#${line.id}`);
}

function shorten(log) { // a browser that shows a hundred megabytes is slow; the start is one click away
  while (log.childNodes.length > 200) log.firstChild.remove();
}

// The keyboard: / searches, g and a letter goes to a screen, ? shows the keys.

let hasG = false;

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || focusedField()) return;
  if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); return; }
  if (event.key === "?") { document.getElementById("keys").showModal(); return; }
  if (hasG) {
    hasG = false;
    const link = document.querySelector(`header nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) link.click();
    return;
  }
  hasG = event.key === "g";
}

// A range of the grid: Shift and a click on its first and its last cell.

let rangeStart = -1;

function endsOf(cell) {
  const query = new URL(cell.href.baseVal, location.href).searchParams;
  const first = cell.dataset.first || query.get("from") || query.get("dataid");
  return [first, cell.dataset.last || query.get("to") || first];
}

function selectCell(event) {
  const cell = event.target.closest("svg.grid a");
  if (!cell || !event.shiftKey) return;
  event.preventDefault();
  const cells = [...document.querySelectorAll("svg.grid a")];
  const here = cells.indexOf(cell);
  const [first, last] = rangeStart < 0 ? [here, here] : [Math.min(rangeStart, here), Math.max(rangeStart, here)];
  const from = document.getElementById("range-from");
  from.value = endsOf(cells[first])[0];
  document.getElementById("range-to").value = endsOf(cells[last])[1];
  cell.classList.add("start");
  if (rangeStart < 0) rangeStart = here; else from.form.requestSubmit();
}

function copyFrom(event) {
  const button = event.target.closest("[data-copy]");
  if (button) navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
}

document.addEventListener("keydown", press);
document.addEventListener("click", copyFrom);
document.addEventListener("click", selectCell);
document.getElementById("show-keys").addEventListener("click", () => document.getElementById("keys").showModal());
document.querySelectorAll("pre[data-source]").forEach(followLog);
listen();
