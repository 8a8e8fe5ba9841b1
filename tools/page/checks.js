/* checks.js — what is wrong with the page that is shown, as lines of text; evaluated in the page by check.py. */
(() => {
  const bad = [];
  const shown = (e) => e.checkVisibility() && e.getClientRects().length;
  const name = (e) => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""}${e.getAttribute("class") ? "." + e.getAttribute("class") : ""} ` +
    `“${(e.textContent || "").trim().slice(0, 30)}”`;

  /* ---- contrast (WCAG 2.2, 1.4.3) ---- */

  const parse = (text) => {
    const n = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return { c: n.slice(0, 3), a: text.startsWith("rgba") ? n[3] ?? 1 : 1 };
  };
  const over = (top, below) => top.c.map((x, i) => x * top.a + below[i] * (1 - top.a));
  const ground = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.push(parse(getComputedStyle(p).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (c) => c.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((s, x, i) => s + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let t = texts.nextNode(); t; t = texts.nextNode()) {
    const e = t.parentElement;
    if (!t.data.trim() || seen.has(e) || !shown(e) || e.closest("title, option, [aria-busy]")) continue;
    seen.add(e);
    const style = getComputedStyle(e), below = ground(e);
    const text = parse(e.closest("svg") ? style.fill : style.color);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const r = ratio(over(text, below), below);
    if (r < (large ? 3 : 4.5)) bad.push(`contrast ${r.toFixed(2)}: ${name(e)}`);
  }
  for (const e of document.querySelectorAll("input, select, textarea"))      /* their border tells where they are (1.4.11) */
    if (shown(e) && e.type !== "range" && ratio(parse(getComputedStyle(e).borderColor).c, ground(e.parentElement)) < 3)
      bad.push(`contrast of the border: ${name(e)}`);

  /* ---- structure ---- */

  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((x) => x === id).length > 1) bad.push(`id ${id} is there twice`);
  for (const e of document.querySelectorAll("label[for]")) if (!document.getElementById(e.htmlFor)) bad.push(`label of nothing: ${name(e)}`);
  for (const e of document.querySelectorAll("input, select, textarea"))
    if (!e.labels?.length && !e.getAttribute("aria-label")) bad.push(`no label: ${name(e)}`);
  for (const e of document.querySelectorAll("img:not([alt]), svg[role=img]:not([aria-label])")) bad.push(`no text for a picture: ${name(e)}`);
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) bad.push(`a heading of level ${own} follows one of level ${level}: ${name(e)}`);
    level = own;
  }
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  if (document.querySelectorAll("main").length !== 1 || !document.documentElement.lang || !document.title) bad.push("no main, lang or title");

  /* ---- sizes ---- */

  if (document.documentElement.scrollWidth > innerWidth) bad.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`);
  for (const e of document.querySelectorAll("button:not(.word), select, input, nav a")) {
    const box = e.getBoundingClientRect();
    if (shown(e) && (box.height < 24 || box.width < 24)) bad.push(`smaller than 24 pixels: ${name(e)}`);
  }
  for (const e of document.querySelectorAll(".scroll"))
    if (e.scrollWidth > e.clientWidth && e.tabIndex < 0) bad.push(`scrolls, and the keyboard cannot reach it: ${name(e)}`);
  return bad;
})()
