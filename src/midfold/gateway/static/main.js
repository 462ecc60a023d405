// The dashboard: one page for each address behind the #.
import { events, get, keepKey } from "./api.js";
import { bars } from "./charts.js";
import { at, fold, found, list, one } from "./conversations.js";
import { compact, dollars, el, empty, inPages, link, named, number, percent, table, tag, tile, when } from "./dom.js";

const page = document.getElementById("page");
const notice = document.getElementById("notice");
let watching = new AbortController();
let shown = 0;

function say(words, isBad = false) {
  notice.textContent = words;
  notice.className = isBad ? "bad" : "";
}
const go = (address) => { location.hash = address; };
async function act(work) {
  say("Working…");
  try {
    const words = await work();
    await render();
    say(words);
  } catch (error) {
    say(error.message, true);
  }
}

const speaker = (hit) => (hit.origin === "message" ? hit.role : hit.origin);

async function search(_, query) {
  const asked = query.get("q") ?? "";
  const field = el("input", { type: "search", value: asked, "aria-label": "Search", placeholder: "Words, or a question: which port did we choose?", maxlength: 1000 });
  const form = el("form", { role: "search", on: { submit: (event) => { event.preventDefault(); go(`#/search?q=${encodeURIComponent(field.value)}`); } } }, field, el("button", { class: "main" }, "Search"));
  const top = [el("h1", null, "Search"), form];
  if (!asked.trim()) {
    const tries = ["Which tests failed?", "What did the user forbid?", "error"];
    return [...top, empty("Everything that was ever said", [el("p", null, "Folded or not, it can be found here. Try:"),
      el("p", { class: "jumps middle" }, tries.map((each) => link(`#/search?q=${encodeURIComponent(each)}`, each)))])];
  }
  const result = await get(`/search?limit=50&q=${encodeURIComponent(asked)}`);
  if (!result.hits.length) return [...top, empty("Nothing found", "Try fewer or other words.")];
  return [...top, result.is_incomplete && el("p", { class: "dim" }, "The search took too long; there may be more."), byConversation(result.hits).map(foundIn)];
}

// Hits of one conversation stand together, where its best one ranks.
function byConversation(hits) {
  const found = new Map();
  for (const hit of hits) found.set(hit.conversation, [...(found.get(hit.conversation) ?? []), hit]);
  return [...found.values()];
}

function foundIn(hits) {
  const box = el("div");
  const more = inPages(box, hits.map((hit) => el("article", { class: "message" },
    el("div", { class: "small dim" }, hitLink(hit), " ", tag(speaker(hit), speaker(hit)), " ", when(hit.at)),
    el("pre", { class: "text" }, hit.pieces.map((piece) => (piece.is_marked ? el("mark", null, piece.text) : piece.text))))), 5);
  return el("section", null, el("h2", null, link(`#/conversations/${encodeURIComponent(hits[0].session)}`, hits[0].title || hits[0].session.slice(0, 8))), box, el("p", null, more));
}

function hitLink(hit) {
  const path = `#/conversations/${encodeURIComponent(hit.session)}`;
  return hit.origin === "summary" ? link(path, "in the notes") : link(`${path}/seq/${hit.seq}`, `message ${hit.seq}`);
}

async function usage(_, query) {
  const days = Number(query.get("days")) || 30;
  const found = await get(`/usage?days=${days}`);
  const choose = el("p", { class: "jumps" }, [7, 30, 90].map((each) => el("a", { href: `#/usage?days=${each}`, "aria-current": each === days && "true" }, `${each} days`)));
  if (!found.calls) return [el("h1", null, "Usage"), choose, empty("No calls in this time", "What clients use through the gateway is counted here.")];
  const amount = (words, each, sign = "", kind = null) => el("tr", { class: kind }, el("td", { class: "wide" }, words), el("td", { class: "num" }, `${each.tokens ? sign : ""}${compact(each.tokens)}`), el("td", { class: "num" }, `${each.dollars ? sign : ""}${dollars(each.dollars)}`));
  return [el("h1", null, "Usage"), choose,
    el("div", { class: "tiles" }, tile(compact(found.tokens.total_tokens), "tokens"), tile(dollars(found.cost.dollars), found.cost.complete ? "spent" : "spent, where prices are known"),
      tile(dollars(found.savings.net.dollars), "saved by folds, net"), tile(percent(found.cache.hit_rate), "of prompts from the cache"), tile(number(found.compressions), "folds in these conversations")),
    bars(found.by_day, (day) => day.tokens.total_tokens, "Tokens by day"),
    el("h2", null, "What folds saved"),
    table([["What", "wide"], ["Tokens", "num"], ["Money", "num"]], [amount("Left out of requests", found.savings.left_out), amount("Cold cache after folds", found.savings.cache_loss, "−"),
      amount("Summaries", found.savings.summaries, "−"), amount("Read again", found.savings.read_again, "−"), amount("Net", found.savings.net, "", "sum")], "What folds saved"),
    el("h2", null, "By model"),
    table([["Model", "wide"], ["Calls", "num"], ["Tokens", "num"], ["Cache", "num"], ["Cost", "num"]], found.by_model.map((group) => el("tr", null, el("td", { class: "wide" }, group.name),
      el("td", { class: "num" }, number(group.calls)), el("td", { class: "num" }, compact(group.tokens.total_tokens)), el("td", { class: "num" }, percent(group.cache.hit_rate)), el("td", { class: "num" }, dollars(group.cost.dollars)))), "By model")];
}

const LIVE = [["When", "first"], ["What", "wide"], ["Conversation", ""], ["Tokens sent", "num"], ["Left out by folds", "num"], ["Seconds", "num"]];

async function live() {
  const waiting = empty("Waiting for requests", "Each appears here as it is answered; never what it says.");
  const box = table(LIVE, [], "Requests");
  const body = box.querySelector("tbody");
  body.setAttribute("aria-live", "polite");
  box.hidden = true;
  const { signal } = watching;
  (async () => {
    for await (const event of events(signal)) {
      waiting.hidden = true;
      box.hidden = false;
      body.prepend(named(LIVE, el("tr", null, el("td", { class: "first" }, new Date(event.at * 1000).toLocaleTimeString("en")), el("td", { class: "wide" }, event.model || event.action || event.kind),
        el("td", null, link(`#/conversations/${encodeURIComponent(event.conversation)}`, event.conversation.slice(0, 8))),
        el("td", { class: "num" }, number(event.tokens)), el("td", { class: "num" }, event.saved_tokens ? number(event.saved_tokens) : "–"), el("td", { class: "num" }, event.seconds ?? "–"))));
      while (body.children.length > 200) body.lastChild.remove();
    }
    if (!signal.aborted) say("The gateway stopped.", true);
  })().catch((error) => { if (!signal.aborted) say(error.message, true); });
  return [el("h1", null, "Live"), waiting, box];
}

async function settings() {
  const found = await get("/settings");
  const own = found.settings.filter((each) => each.origin !== "default");
  return [el("h1", null, "Settings"), el("p", { class: "dim" }, "As they are in force; secrets are never shown. They are changed in the settings file or the environment."),
    own.length > 0 && [el("h2", null, "Set by you"), table(SETTING, own.map(setting), "Set by you")],
    el("h2", null, "Defaults"), table(SETTING.slice(0, 2), found.settings.filter((each) => each.origin === "default").map(setting), "Defaults")];
}

const SETTING = [["Setting", "first"], ["Value", "wide"], ["From", "optional"]];
const value = (each) => (each.value === null ? el("span", { class: "dim" }, "not set") : el("code", null, typeof each.value === "string" ? each.value : JSON.stringify(each.value)));
const setting = (each) => el("tr", null, el("td", { class: "first" }, el("code", null, each.key)), el("td", { class: "wide" }, value(each)), each.origin !== "default" && el("td", { class: "dim small optional" }, each.origin));

const tools = { act, go };
const PAGES = [
  [/^\/$/, list], [/^\/search$/, search], [/^\/usage$/, usage], [/^\/live$/, live], [/^\/settings$/, settings],
  [/^\/conversations\/([^/]+)$/, ([name]) => one(name, tools)],
  [/^\/conversations\/([^/]+)\/folds\/(\d+)$/, ([name, which]) => fold(name, which, tools)],
  [/^\/conversations\/([^/]+)\/messages\/(\d+)$/, ([name, which]) => at(name, which)],
  [/^\/conversations\/([^/]+)\/seq\/(\d+)$/, ([name, seq]) => found(name, seq)],
];

function askKey() {
  const field = el("input", { type: "password", "aria-label": "Key", autocomplete: "off" });
  return [el("h1", null, "Key"), el("p", null, "This gateway has a key. It stays in this tab."),
    el("form", { on: { submit: (event) => { event.preventDefault(); keepKey(field.value); render(); } } }, field, el("button", { class: "main" }, "Go on"))];
}

async function render() {
  const mine = ++shown;
  watching.abort();
  watching = new AbortController();
  const [path, query] = (location.hash.slice(1) || "/").split("?");
  for (const each of document.querySelectorAll("nav a")) {
    const own = each.getAttribute("href").slice(1);
    const isHere = own === path || (own === "/" && path.startsWith("/conversations"));
    if (isHere) each.setAttribute("aria-current", "page"); else each.removeAttribute("aria-current");
  }
  let content;
  try {
    const match = PAGES.map(([pattern, show]) => [pattern.exec(path), show]).find(([parts]) => parts);
    content = match ? await match[1](match[0].slice(1).map(decodeURIComponent), new URLSearchParams(query)) : [el("h1", null, "No such page"), el("p", null, link("#/", "All conversations"))];
  } catch (error) {
    content = error.status === 401 ? askKey() : [el("h1", null, "That did not work"), el("p", null, error.message)];
  }
  if (mine !== shown) return;
  page.replaceChildren(...[content].flat(Infinity).filter(Boolean));
  document.title = `${page.querySelector("h1")?.textContent ?? "midfold"} – midfold`;
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part behind the # is the address of a page
  page.focus();
});
addEventListener("hashchange", async () => {
  say("");
  await render();
  scrollTo(0, 0);
  page.focus();
});
render();
