// Charts in SVG, made of numbers.
import { compact, el, svg } from "./dom.js";

// A chart is as wide as it is shown, so that its words stay readable on a phone.
const width = () => Math.max(300, Math.min(1006, innerWidth - 62));

export function pressure(points, folds, windowTokens, thresholdTokens) {
  const WIDTH = width(), height = 220, left = 52, bottom = 24, top = 16;
  const times = points.map((point) => Date.parse(point.at));
  const peak = Math.max(...points.map((point) => point.tokens), 1);
  // A threshold far above everything would press the line flat; its figure stands below then.
  const most = peak * 3 < thresholdTokens ? peak * 1.2 : Math.max(thresholdTokens * 1.15, peak);
  // By order, not by the clock: a night between two turns would hide both days.
  const x = (index) => left + ((WIDTH - left - 8) * index) / Math.max(1, points.length - 1);
  const y = (tokens) => top + (height - top - bottom) * (1 - tokens / most);
  const line = points.map((point, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(point.tokens).toFixed(1)}`).join("");
  const level = (tokens, kind, words) => tokens <= most && [
    svg("line", { x1: left, x2: WIDTH - 8, y1: y(tokens), y2: y(tokens), class: kind }),
    svg("text", { x: left + 6, y: y(tokens) - 4 }, words)];
  const marks = folds.map((fold) => {
    const at = times.findIndex((time) => time >= Date.parse(fold.at));
    const place = x(at < 0 ? points.length - 1 : at);
    return svg("line", { x1: place, x2: place, y1: top, y2: height - bottom, class: "fold" }, svg("title", null, `fold ${fold.number}`));
  });
  const last = points.at(-1);
  const when = (time) => new Date(time).toLocaleString("en", WIDTH < 600 ? { dateStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
  return el("figure", { class: "card" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img",
      "aria-label": `Context over time, now ${compact(last.tokens)} tokens of ${compact(windowTokens)}` },
      [0, 0.5, 1].map((part) => [
        svg("line", { x1: left, x2: WIDTH - 8, y1: y(most * part), y2: y(most * part), class: "axis" }),
        svg("text", { x: left - 8, y: y(most * part) + 4, "text-anchor": "end" }, compact(most * part))]),
      svg("path", { d: `${line}L${x(points.length - 1)} ${height - bottom}L${left} ${height - bottom}Z`, class: "area" }),
      svg("path", { d: line, class: "line" }),
      level(thresholdTokens, "soon", `folds from ${compact(thresholdTokens)}`),
      level(windowTokens, "limit", `window ${compact(windowTokens)}`), marks,
      svg("text", { x: left, y: height - 6 }, when(times[0])),
      svg("text", { x: WIDTH - 8, y: height - 6, "text-anchor": "end" }, when(times.at(-1)))),
    el("figcaption", { class: "dim small" }, `Tokens in the context, ${last.kind === "reported" ? "as the provider reported them" : "estimated"}; upright lines are folds. The next fold is due from ${compact(thresholdTokens)} of a window of ${compact(windowTokens)}.`));
}

export function chain(sessions, folds) {
  const step = 150, wide = Math.max(320, sessions.length * step);
  return el("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": "Chain" },
    svg("svg", { viewBox: `0 0 ${wide} 92`, width: wide, height: 92, role: "group", "aria-label": `A chain of ${sessions.length} sessions` },
      sessions.map((session, index) => {
        const at = 60 + index * step;
        return [
          index > 0 && svg("path", { d: `M${at - step + 13} 34L${at - 13} 34`, class: "edge" }),
          index > 0 && svg("a", { href: `#/conversations/${encodeURIComponent(session.id)}/folds/${index}` },
            svg("text", { x: at - step / 2, y: 26, "text-anchor": "middle" },
              folds[index - 1] ? `${compact(folds[index - 1].tokens_before)} → ${compact(folds[index - 1].tokens_after)}` : "fold")),
          svg("circle", { cx: at, cy: 34, r: 11, class: index === sessions.length - 1 ? "node tip" : "node" }, svg("title", null, session.id)),
          svg("text", { x: at, y: 66, "text-anchor": "middle" }, session.id.slice(0, 8)),
          svg("text", { x: at, y: 82, "text-anchor": "middle" }, index ? `${session.messages} new` : `${session.messages} messages`)];
      })));
}

export function bars(days, valueOf, words) {
  const WIDTH = width(), height = 150, bottom = 20, most = Math.max(1, ...days.map(valueOf));
  const step = (WIDTH - 10) / Math.max(1, days.length);
  return el("figure", { class: "card" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": words },
      days.map((day, index) => {
        const tall = ((height - bottom - 8) * valueOf(day)) / most;
        return svg("rect", { x: 5 + index * step, y: height - bottom - tall, width: Math.max(1, step - 3), height: tall, rx: 2, class: "bar" },
          svg("title", null, `${day.name}: ${compact(valueOf(day))}`));
      }),
      svg("text", { x: 5, y: height - 4 }, days[0]?.name ?? ""),
      svg("text", { x: WIDTH - 5, y: height - 4, "text-anchor": "end" }, days.at(-1)?.name ?? "")),
    el("figcaption", { class: "dim small" }, `${words}; the highest is ${compact(most)}.`));
}
