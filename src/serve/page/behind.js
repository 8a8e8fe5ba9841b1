/* behind.js — below a result: how long it took, and the request that a program would send for it. */
import { copyButton, count, el, hasKey, scroll, sent } from "./common.js";
import { local, says } from "./transport.js";

/* ---- the request as text ----------------------------------------------------------------------------------------- */

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function inShell({ url, body }) {
  return [`curl ${body.stream ? "-N " : ""}${quoted(url)}`, "-H 'Content-Type: application/json'",
    ...hasKey() ? ['-H "Authorization: Bearer $API_KEY"'] : [], `-d ${quoted(JSON.stringify(body))}`].join(" \\\n  ");
}

/* A JSON value as Python writes it; strings are the same in both. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${literal(k)}: ${literal(v)}`).join(", ")}}`;
  return new Map([[true, "True"], [false, "False"], [null, "None"]]).get(value) ?? JSON.stringify(value);
}

function inPython({ url, body }) {
  const print = body.stream ? ["    for line in answer:", '        print(line.decode(), end="")'] : ["    print(json.load(answer))"];
  return ["import json", ...hasKey() ? ["import os"] : [], "from urllib.request import Request, urlopen", "", `body = ${literal(body)}`,
    `headers = {"Content-Type": "application/json"${hasKey() ? ', "Authorization": "Bearer " + os.environ["API_KEY"]' : ""}}`,
    `with urlopen(Request(${literal(url)}, json.dumps(body).encode(), headers)) as answer:`, ...print].join("\n");
}

/* ---- the section ------------------------------------------------------------------------------------------------- */

/* Sums of what the server measured, over the parts of a request. */
function timesOf(parts, milliseconds) {
  const sum = (name) => parts.reduce((all, s) => all + Number(s.headers?.get(name) ?? 0), 0);
  const tokens = sum("x-compute-tokens");
  return `${tokens ? `${count(tokens, "token")}. ` : ""}${parts.length > 1 ? `${parts.length} requests. ` : ""}` +
    (parts.some((s) => s.headers?.has("x-total-time")) ? says.times(sum("x-total-time"), sum("x-inference-time")) : "") +
    `Shown after ${Math.round(milliseconds)} ms.`;
}

let open = false;                                    /* also in the next view */

/* The first request of the view is its own; others, to other routes, are for notes. */
export function behind(milliseconds) {
  if (!sent.length) return [];
  const parts = sent.filter((s) => s.url === sent[0].url);
  const times = el("p", { class: "hint" }, timesOf(parts, milliseconds));
  if (local) return [times];                         /* no program could send the request */
  return [times,
    el("details", { open, ontoggle: (e) => { open = e.target.open; } },
      el("summary", {}, parts.length > 1 ? "The first of the requests behind this view" : "The request behind this view"),
      [["curl", inShell], ["Python", inPython]].map(([name, write]) => {
        const text = write(sent[0]);
        return el("section", {}, el("h2", {}, name, " ", copyButton(() => text, `Copy the request for ${name}`)),
          scroll(`Request for ${name}`, el("pre", {}, text)));
      }))];
}
