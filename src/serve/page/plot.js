/* plot.js — plots as SVG: axes with curves, and cells. Colors are classes of page.css. */
import { svg } from "./common.js";

const W = 480, H = 260, LEFT = 66, RIGHT = 12, TOP = 12, BOTTOM = 40;

/* About n round numbers from a to b. */
function ticks(a, b, n = 5) {
  const raw = (b - a) / n || 1, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= raw);
  const list = [];
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + step * 1e-9; i++) list.push(i * step);
  return list;
}

const powers = (a, b) => ticks(Math.ceil(a - 1e-9), Math.floor(b + 1e-9), 6).filter((e) => Number.isInteger(e));

const short = (x) => Math.abs(x) >= 1e6 ? `${Number((x / 1e6).toPrecision(4))} million` : Number(x.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 8 });

/* curves: [{points: [[x, y], ...], kind: "curve"|"second"|"dot", band: [[x, low, high], ...]}] */
export function curves({ title, x, y, log = false, lines = [], curves: list, low, high }) {
  const value = log ? (v) => Math.log10(v) : (v) => v;
  const points = list.flatMap((c) => [...c.points, ...(c.band ?? []).flatMap(([a, l, h]) => [[a, l], [a, h]])]);
  const xs = points.map((p) => p[0]), ys = [...points.map((p) => value(p[1])), ...lines.map((l) => value(l.at))];
  const x0 = Math.min(...xs), x1 = Math.max(...xs, x0 + 1e-9);
  const y0 = low ?? Math.min(...ys), y1 = Math.max(high ?? Math.max(...ys), y0 + 1e-9);
  const px = (v) => LEFT + (v - x0) / (x1 - x0) * (W - LEFT - RIGHT);
  const py = (v) => H - BOTTOM - (v - y0) / (y1 - y0) * (H - TOP - BOTTOM);
  const path = (ps) => ps.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(value(b)).toFixed(1)}`).join("");
  const area = (band) => path(band.map(([a, , h]) => [a, h])) + path(band.map(([a, l]) => [a, l]).reverse()).replace("M", "L") + "Z";
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title },
    (log ? powers(y0, y1).map((e) => [e, short(10 ** e)]) : ticks(y0, y1).map((v) => [v, short(v)])).map(([v, text]) => [
      svg("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: py(v), y2: py(v) }),
      svg("text", { class: "quiet", x: LEFT - 6, y: py(v) + 4, "text-anchor": "end" }, text)]),
    ticks(x0, x1).map((v) => svg("text", { class: "quiet", x: px(v), y: H - BOTTOM + 16, "text-anchor": "middle" }, short(v))),
    svg("path", { class: "axis", d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}` }),
    svg("text", { x: (LEFT + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, x),
    svg("text", { x: 12, y: (H - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(H - BOTTOM) / 2})` }, y),
    list.map((c) => [
      c.band && svg("path", { class: "band", d: area(c.band) }),
      c.kind === "dot" ? c.points.map(([a, b]) => svg("circle", { class: "dot", cx: px(a), cy: py(value(b)), r: 3 }))
        : svg("path", { class: c.kind ?? "curve", d: path(c.points) })]),
    lines.map((l) => [svg("line", { class: "second", x1: LEFT, x2: W - RIGHT, y1: py(value(l.at)), y2: py(value(l.at)) }),
      svg("text", { class: "quiet", x: W - RIGHT - 2, y: py(value(l.at)) - 4, "text-anchor": "end" }, l.text)]));
}

/* rows of numbers from 0 to `most` as cells; label(row, column) of each cell is its tooltip. `axes`: names of rows and of columns.
   `chosen`: [row, column], or [row] for a whole row. */
export function cells({ title, rows, most, size = 18, left = 0, top = 0, rowName, columnName, axes, label, chosen, onchoose }) {
  const wide = size * rows[0].length, w = left + wide + (columnName && !axes ? top / 2 : 2), h = top + size * rows.length;
  const list = rows.flatMap((row, i) => row.map((v, j) => svg("rect", { class: "cell", x: left + j * size, y: top + i * size,
    width: size - 1, height: size - 1, "fill-opacity": Math.max(0.03, Math.min(1, v / most)).toFixed(3),
    onclick: onchoose && (() => onchoose(i, j)) }, svg("title", {}, label(i, j, v)))));
  return svg("svg", { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: "img", "aria-label": title }, list,
    rows.map((_, i) => rowName && svg("text", { x: left - 6, y: top + i * size + size * 0.7, "text-anchor": "end" }, rowName(i))),
    rows[0].map((_, j) => columnName && (axes ? svg("text", { x: left + (j + 0.5) * size, y: top - 6, "text-anchor": "middle" }, columnName(j))
      : svg("text", { x: 0, y: 0, "text-anchor": "start",
        transform: `translate(${left + j * size + size * 0.7} ${top - 6}) rotate(-60)` }, columnName(j)))),
    axes && [svg("text", { x: left + wide / 2, y: 12, "text-anchor": "middle" }, axes[1]),
      svg("text", { x: 12, y: top + (h - top) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${top + (h - top) / 2})` }, axes[0])],
    chosen && svg("rect", { class: "chosen", x: left + (chosen[1] ?? 0) * size, y: top + chosen[0] * size,
      width: (chosen.length > 1 ? size : wide) - 1, height: size - 1 }));
}

/* points: [[x, y], ...], with one scale for both; label(i) is the tooltip of a point, name(i) is next to it. */
export function scatter({ title, points, label, name, chosen, onchoose }) {
  const high = 340, edge = 16, middle = [0, 1].map((k) => (Math.min(...points.map((p) => p[k])) + Math.max(...points.map((p) => p[k]))) / 2);
  const reach = [0, 1].map((k) => Math.max(...points.map((p) => Math.abs(p[k] - middle[k]))));
  const scale = Math.min((W / 2 - edge) / (reach[0] || 1), (high / 2 - edge) / (reach[1] || 1));
  const at = points.map(([x, y]) => ({ cx: W / 2 + (x - middle[0]) * scale, cy: high / 2 - (y - middle[1]) * scale }));
  const point = (i, kind, r) => svg("circle", { class: kind, ...at[i], r, onclick: () => onchoose(i) }, svg("title", {}, label(i)));
  return svg("svg", { viewBox: `0 0 ${W} ${high}`, role: "img", "aria-label": title },
    svg("rect", { class: "grid", x: 0.5, y: 0.5, width: W - 1, height: high - 1 }),
    at.map(({ cx, cy }, i) => svg("text", { class: "quiet", x: cx + (cx > W * 0.6 ? -11 : 11), y: cy + 4, "text-anchor": cx > W * 0.6 ? "end" : "start" }, name(i))),
    points.map((_, i) => point(i, "dot", points.length > 100 ? 3 : 5)), point(chosen, "chosen", 8));
}

/* A clock with two hands, angles in radians. */
export function clock(title, query, key) {
  const hand = (angle, kind) => svg("line", { class: kind, x1: 50, y1: 50, x2: 50 + 40 * Math.cos(angle), y2: 50 - 40 * Math.sin(angle) });
  return svg("svg", { viewBox: "0 0 100 100", role: "img", "aria-label": title },
    svg("circle", { class: "ring", cx: 50, cy: 50, r: 44 }), hand(query, "query"), hand(key, "key"));
}
