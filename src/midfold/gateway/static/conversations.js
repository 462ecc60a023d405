// Conversations: the list, one of them, and one of its folds.
import { change, get } from "./api.js";
import { chain, pressure } from "./charts.js";
import { compact, dollars, el, empty, inPages, link, many, named, number, percent, table, tag, tile, when } from "./dom.js";

const id = encodeURIComponent;
const PAGE = 50;
const ROWS = 100;
const SHORT = 1500;
const HEAD = [["Conversation", "wide"], ["Messages", "num"], ["Folds", "num"], ["Began", "num"]];
const WHY = {
  preflight: "The request reached the threshold", threshold: "The context reached the threshold", overflow: "The request did not fit into the window",
  model: "The next model has a smaller window", command: "Somebody asked for it", gateway: "A request through the gateway was too long", notes: "Somebody corrected the notes",
};
const why = (fold) => WHY[fold.why] ?? "The reason was not recorded";
const done = (fold) => (fold.reason === "pruned" ? "old tool results were shortened" : fold.focus ? `focus: ${fold.focus}` : "");

const row = (each) => el("tr", null,
  el("td", { class: "wide" }, link(`#/conversations/${id(each.id)}`, each.title || each.id.slice(0, 8)),
    el("div", { class: "dim small" }, [each.model, each.source].filter(Boolean).join(" · "))),
  el("td", { class: "num" }, number(each.messages)),
  el("td", { class: "num" }, each.folds ? tag(number(each.folds), "folded") : el("span", { class: "dim" }, "0")),
  el("td", { class: "num dim" }, when(each.began_at)));

export async function list() {
  const first = await get(`/conversations?limit=${PAGE}`);
  if (!first.conversations.length) {
    return [el("h1", null, "Conversations"), empty("Nothing here yet", [
      el("p", null, "Point a client at ", el("code", null, `${location.origin}/v1`), ", such as with ", el("code", null, `OPENAI_BASE_URL=${location.origin}/v1`), ". What it says appears here."),
      el("p", null, "Or bring a session in: ", el("code", null, "midfold sessions import FILE"))])];
  }
  const body = table(HEAD, first.conversations.map(row), "Conversations");
  const more = el("button", { on: { click: async () => {
    more.disabled = true;
    const page = await get(`/conversations?limit=${PAGE}&after=${id(more.dataset.next)}`);
    body.querySelector("tbody").append(...page.conversations.map((each) => named(HEAD, row(each))));
    show(page.next);
  } } }, "Show more");
  const show = (next) => { more.hidden = !next; more.disabled = false; more.dataset.next = next ?? ""; };
  show(first.next);
  const lead = el("p", { class: "dim" }, "The newest first. A fold replaces the middle of a long conversation by notes, so that it fits the model; every message is kept here.");
  return [el("h1", null, "Conversations"), lead, body, el("p", null, more)];
}

export async function one(name, { act }) {
  const found = await get(`/conversations/${id(name)}`);
  const focus = el("input", { type: "text", "aria-label": "Focus", placeholder: "Focus: what to keep best (optional)", maxlength: 500 });
  const form = el("form", { on: { submit: (event) => {
    event.preventDefault();
    act(async () => {
      const done = await change("POST", `/conversations/${id(found.tip)}/compress`, { focus: focus.value });
      return [done.headline, done.token_line, done.changed ? done.warning : done.reason].filter(Boolean).join(". ");
    });
  } } }, focus, el("button", { class: "main" }, "Compress now"));
  return [
    el("h1", null, found.title || found.id.slice(0, 8)),
    el("p", { class: "dim" }, [found.model, found.source, many(found.messages, "message"), `id ${found.tip.slice(0, 8)}`].filter(Boolean).join(" · ")),
    el("div", { class: "tiles" },
      found.pressure.length > 0 && tile(compact(found.pressure.at(-1).tokens), `tokens in the context, of ${compact(found.window_tokens)}`),
      found.usage.calls > 0 && [tile(compact(found.usage.tokens.total_tokens), `tokens used in ${many(found.usage.calls, "call")}`), tile(dollars(found.usage.cost.dollars), "spent"),
        tile(dollars(found.usage.savings.net.dollars), "saved by folds, net"), tile(percent(found.usage.cache.hit_rate), "of prompts from the cache")],
      found.usage.calls === 0 && [tile(number(found.messages), "messages, all kept"), tile(...many(found.folds.length, "fold").split(" "))]),
    found.usage.calls === 0 && el("p", { class: "dim" }, "No call of it was made through midfold, so it has no usage and no cost."),
    el("h2", null, "Pressure"),
    found.pressure.length ? pressure(found.pressure, found.folds, found.window_tokens, found.threshold_tokens) : empty("No requests yet", "The chart begins with the first one."),
    el("h2", null, "Chain"), chain(found.chain, found.folds),
    el("h2", null, "Folds"), folds(found),
    form, el("p", { class: "dim small" }, "Writes the notes without a model. A fold can be undone."),
    found.pins.length > 0 && [el("h2", null, "Pinned"), found.pins.map((pin) => el("div", { class: "note" }, el("p", null, pin),
      el("div", { class: "do" }, el("button", { class: "tiny", on: { click: () => act(async () => {
        await change("DELETE", `/conversations/${id(found.tip)}/pins`, { text: pin });
        return "Let go of it.";
      }) } }, "Unpin"))))],
    el("h2", null, "Messages"), await messages(found.tip)];
}

const folds = (found) => found.folds.length === 0
  ? empty("Nothing is folded", "Every message is still in the context word for word.")
  : table([["Fold", "first"], ["Why", "wide"], ["Messages", "num"], ["Tokens", "num"], ["When", "num"]], found.folds.map((fold) => el("tr", null,
    el("td", null, link(`#/conversations/${id(found.tip)}/folds/${fold.number}`, `Fold ${fold.number}`)),
    el("td", { class: "wide" }, why(fold), done(fold) && el("div", { class: "dim small" }, done(fold))),
    el("td", { class: "num" }, `${number(fold.messages_before)} → ${number(fold.messages_after)}`),
    el("td", { class: "num" }, `${compact(fold.tokens_before)} → ${compact(fold.tokens_after)}`),
    el("td", { class: "num dim" }, when(fold.at)))), "Folds");

// Some APIs bring the results of tools in the user's name.
const speaker = (message) => (message.parts.length && message.parts.every((part) => part.kind === "result") ? "tool" : message.role);
export const showMessage = (message) => el("article", { class: "message", id: `m${message.number}` },
  el("div", { class: "small dim" }, `#${message.number} `, tag(speaker(message), speaker(message)), " ", message.tools.join(", "), " ", when(message.at)),
  message.parts.map((part, index) => showPart(message, part, index)));

// A long text stands cut until somebody asks for all of it.
function showPart(message, part, index) {
  const box = el("pre", { class: part.kind }, part.name ? `→ ${part.name} ` : "");
  const whole = part.text.length + (part.more_chars ?? 0);
  if (whole <= SHORT) {
    box.append(part.text);
    return box;
  }
  const all = el("button", { class: "tiny", on: { click: async () => {
    all.disabled = true;
    const page = part.more_chars && await get(`/sessions/${id(message.session)}/messages?start=${message.number}&limit=1&full=true`);
    const text = page ? page.messages[0].parts[index].text : part.text;
    box.replaceChildren(part.name ? `→ ${part.name} ` : "", text);
  } } }, `Show all ${number(whole)} characters`);
  box.append(`${part.text.slice(0, SHORT)}… `, all);
  return box;
}

async function messages(session, asked = "start=0") {
  const box = el("div");
  const more = el("button", null, "Show more");
  async function load(from) {
    const page = await get(`/sessions/${id(session)}/messages?${from}&limit=${PAGE}`);
    box.append(...page.messages.map(showMessage));
    more.hidden = page.next === null;
    more.dataset.next = page.next ?? "";
    return page;
  }
  more.addEventListener("click", () => load(`start=${more.dataset.next}`));
  const first = await load(asked);
  if (!first.total) return [empty("No messages", "Nothing was said here yet.")];
  box.dataset.named = first.named ?? "";
  return [box, el("p", null, more)];
}

async function around(name, asked, known) {
  const shown = await messages(name, asked);
  const which = known ?? shown[0].dataset.named;
  shown[0].querySelector(`#m${Number(which)}`)?.classList.add("named");
  return [el("h1", null, `Message ${which}`), el("p", null, link(`#/conversations/${id(name)}`, "The whole conversation")), shown];
}
export const at = (name, message) => around(name, `start=${Math.max(0, Number(message) - 3)}`, Number(message));
export const found = (name, seq) => around(name, `seq=${Number(seq)}`);

export async function fold(name, which, { act, go }) {
  const found = await get(`/conversations/${id(name)}/folds/${id(which)}`);
  const undo = el("button", { on: { click: () => act(async () => {
    await change("POST", `/conversations/${id(name)}/undo`, {});
    go(`#/conversations/${id(name)}`);
    return "Taken back: everything is in the context again.";
  }) } }, "Undo this fold");
  const parts = ["Notes", "What left the context", "Before and after"].map((words) => el("h2", { tabindex: "-1" }, words));
  return [
    el("p", { class: "small" }, link(`#/conversations/${id(name)}`, `← ${found.title || "conversation"}`)),
    el("h1", null, `Fold ${found.number}`),
    el("p", { class: "dim" }, [why(found), done(found)].filter(Boolean).join(" · "), " · ", when(found.at)),
    el("div", { class: "tiles" },
      tile(`${number(found.messages_before)} → ${number(found.messages_after)}`, "messages"),
      tile(`${compact(found.tokens_before)} → ${compact(found.tokens_after)}`, "tokens"),
      found.summarizer && tile(found.summarizer === "digest" ? "midfold" : found.summarizer, found.summarizer === "digest" ? "wrote the notes, without a model" : "wrote the notes")),
    found.warning && el("p", null, found.warning),
    !found.is_newest && el("p", { class: "dim" }, "A later fold stands on this one, so it is shown as it was; only the newest can be corrected or undone."),
    el("p", { class: "jumps" }, found.is_newest && undo, ...parts.map((part) => el("button", { class: "tiny", on: { click: () => { part.scrollIntoView(); part.focus({ preventScroll: true }); } } }, part.textContent))),
    parts[0], notes(name, found, act), parts[1], losses(found), parts[2], rows(found)];
}

function notes(name, found, act) {
  const correct = (method, path, body, words) => () => act(async () => {
    await change(method, `/conversations/${id(name)}${path}`, body);
    return words;
  });
  const field = el("input", { type: "text", "aria-label": "New note", placeholder: "Add a note the model should know", maxlength: 2000 });
  const form = el("form", { on: { submit: (event) => {
    event.preventDefault();
    if (field.value.trim()) correct("POST", "/notes", { text: field.value }, "Noted.")();
  } } }, field, el("button", null, "Add"));
  let heading = null;
  const shown = found.notes.map((note) => {
    const head = note.heading !== heading && el("h3", { class: "small dim" }, note.heading);
    heading = note.heading;
    return [head, one_note(name, note, found.is_newest, correct)];
  });
  const lead = el("p", { class: "dim small" }, "What the model reads in place of the folded messages. Under each: who said it, and where.");
  return [shown.length ? [lead, shown] : empty("No notes", "This fold only shortened messages."), found.is_newest && shown.length > 0 && form];
}

function one_note(name, note, editable, correct) {
  const own = note.text.replace(/^(\[\d+\] )+/, ""); // its messages are linked below
  const words = el("p", null, own);
  const edit = () => {
    const field = el("input", { type: "text", value: own, "aria-label": `Note ${note.number}`, maxlength: 2000 });
    words.replaceWith(el("form", { on: { submit: (event) => {
      event.preventDefault();
      correct("PUT", `/notes/${note.number}`, { text: field.value }, "Changed; the model reads it as your correction.")();
    } } }, field, el("button", { class: "tiny" }, "Save")));
    field.focus();
  };
  // The messages beside the note, word for word.
  const originals = el("div", { class: "originals", hidden: true });
  const compare = button("Compare", async () => {
    originals.hidden = !originals.hidden;
    compare.setAttribute("aria-expanded", String(!originals.hidden));
    if (originals.hidden || originals.childElementCount) return;
    const pages = await Promise.all(note.sources.slice(0, 4).map((source) => get(`/sessions/${id(name)}/messages?start=${source.number}&limit=1`)));
    originals.append(...pages.flatMap((page) => page.messages).map(showMessage));
  });
  function button(label, does) {
    return el("button", { class: "tiny", "aria-label": `${label} note ${note.number}`, on: { click: does } }, label);
  }
  return el("div", { class: note.is_struck ? "note struck" : "note" }, words,
    el("div", { class: "do" },
      note.sources.length > 0 && compare,
      editable && button("Edit", edit),
      editable && !note.is_struck && button("Strike", correct("POST", "/notes/strike", { numbers: [note.number] }, "Struck.")),
      editable && !note.is_pinned && button("Pin", correct("POST", "/pins", { text: own }, "Pinned: kept word for word from now on."))),
    el("div", { class: "from small dim" }, tag(note.author, note.author), note.is_pinned && [" ", tag("pinned", "good")], " ",
      note.sources.slice(0, 12).map((source) => [" ", link(`#/conversations/${id(name)}/messages/${source.number}`, `#${source.number}`)])), originals);
}

const losses = (found) => found.losses.length === 0
  ? empty("Nothing of weight", "What was folded is still said in the notes.")
  : table([["Kind", "first"], ["What", "wide"], ["Message", "num"]], found.losses.map((loss) => el("tr", null,
    el("td", null, tag(loss.kind)), el("td", { class: "wide" }, loss.what), el("td", { class: "num dim" }, `#${loss.index}`))), "What left the context");

function rows(found) {
  const box = table([["Before", "num"], ["After", "num"], ["Fate", "first"], ["Message", "wide most"]], [], "Before and after");
  const more = inPages(box.querySelector("tbody"), found.rows.map(compared), ROWS);
  const left = found.rows_left_out > 0 && el("p", { class: "dim" }, `${number(found.rows_left_out)} more are not shown.`);
  return [el("p", { class: "dim small" }, "Each message by its number in the context, before the fold and after it."), box, el("p", null, more), left];
}

const FATES = { old: "kept" };
const compared = (each) => named([["before", "num"], ["after", "num"], ["", ""], ["", ""]], el("tr", { class: each.fate === "folded" ? "folded" : each.fate === "summary" ? "summary" : null },
  el("td", { class: "num dim" }, each.before ?? "–"), el("td", { class: "num dim" }, each.after ?? "–"),
  el("td", null, tag(FATES[each.fate] ?? each.fate, each.fate), el("div", { class: "small dim" }, each.role)),
  el("td", { class: "wide most" }, el("div", { class: "cell" }, each.fate === "summary" ? `${each.new_text.slice(0, 240)}… (the notes above)` : each.new_text ?? each.text))));
