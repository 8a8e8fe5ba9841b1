"""serve_page.py PROGRAM [WORD]... — the page, what it may load, and the routes that it uses; run by serve_page.sh."""
import os
import re
import sys

from serve_client import Server, expect, main, status, test

program = sys.argv[1]
FILES = os.path.join(os.path.dirname(__file__), *[".."] * 3, "src", "serve", "page")
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}
NAMED = ("http://www.w3.org/2000/svg", "https://arxiv.org/abs/2104.09864")          # a namespace, and a link to the paper
POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "connect-src": "'self'",
          "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}


def source(name):
    with open(os.path.join(FILES, name), "rb") as f:
        return f.read()


def policy(answer):
    return dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))


# ---- files -----------------------------------------------------------------------------------------------------------

@test
def the_program_has_the_bytes_of_the_sources():
    with Server(program, "-m", "model") as s:
        for name in sorted(os.listdir(FILES)):
            a = status(s.ask("GET", "/ui" if name == "page.html" else f"/ui/{name}"), 200)
            expect(a.body == source(name), name, "is not its source")
            expect(a.headers["content-type"] == TYPES[os.path.splitext(name)[1]], name, a)
            expect(a.headers["x-content-type-options"] == "nosniff", name, a)
            head = status(s.ask("HEAD", "/ui" if name == "page.html" else f"/ui/{name}"), 200)
            expect(head.headers["content-length"] == str(len(a.body)), name, head)
        for path in ("/ui/", "/ui/page.html", "/ui/none", "/ui/../ui/page.js", "/ui//page.js"):
            status(s.ask("GET", path), 404)


@test
def a_page_of_html_may_load_its_own_files_only():
    with Server(program, "-m", "model") as s:
        for path in ("/ui", "/docs"):
            a = status(s.ask("GET", path), 200)
            expect(policy(a) == POLICY and a.headers["referrer-policy"] == "no-referrer", path, a)
            text = a.body.decode()
            expect(not re.search(r"<style|<script(?! type=\"module\" src=)|\sstyle=|\son\w+=|javascript:", text), path, "has inline code")
            linked = re.findall(r"(?:src|href)=\"([^\"]*)\"", text)
            linked = [at for at in linked if at not in NAMED]
            expect(linked and not any(re.match(r"[a-z]+:|/", at) for at in linked), path, "links elsewhere", linked)
            for at in linked:                             # relative, so that a proxy may have a prefix
                if not at.startswith("#"):
                    status(s.ask("GET", "/" + at), 200)


@test
def scripts_and_styles_stay_with_text_and_with_this_server():
    for name in os.listdir(FILES):
        text = source(name).decode()
        if name.endswith(".js"):
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "Function(",
                         "setAttribute(\"style\"", "localStorage", "import("):
                expect(word not in text, name, "has", word)
        outside = [u for u in re.findall(r"https?://[^\s\"']+|url\(", text) if u not in NAMED]
        expect(not outside, name, "names other hosts", outside)


@test
def a_browser_gets_the_page_at_the_root_and_a_program_the_health():
    browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    with Server(program, "-m", "model", "--api-key-file", "keys") as s:
        a = status(s.ask("GET", "/", headers=[browser]), 200)
        expect(a.body == source("page.html") and a.headers["vary"] == "Accept" and policy(a) == POLICY, a)
        for accept in ([], ["Accept: */*"], ["Accept: application/json"]):
            expect(status(s.ask("GET", "/", headers=accept), 200).body == b"", "no health", accept)
        status(s.ask("GET", "/ui/page.js"), 200)          # the page asks for the key
        status(s.ask("GET", "/v1/models"), 401)
        for path in ("/attention", "/positions"):
            status(s.post(path, {"inputs": "a"}), 401)


# ---- models ----------------------------------------------------------------------------------------------------------

ABILITIES = {"model": {"fill-mask", "similarity", "attention", "positions"}, "causal": {"generate", "similarity", "attention", "positions"},
             "pairs": {"rerank", "attention"}, "labels": {"classify", "attention"}, "translate": {"translate", "similarity"},
             "token": {"tags", "attention"}, "span": {"answers", "attention"}}


@test
def each_model_says_what_it_can():
    options = [x for name in ABILITIES for x in ("-m", name)]
    with Server(program, *options, "--alias", "other=labels") as s:
        rows = status(s.ask("GET", "/v1/models"), 200).json()["data"]
        for name, can in ABILITIES.items():
            row = next(r for r in rows if r["id"] == name)
            vectors = {"embed"} if "similarity" in can else set()
            expect(set(row["can"]) == can | vectors | {"tokenize"}, name, row)
            expect(row["layers"] > 0 and row["heads"] > 0 and row["kind"].startswith("a"), row)
        expect("can" not in next(r for r in rows if r["id"] == "other"), "an alias has abilities", rows)
        # and it can, under its name; another one is refused by name
        tries = {"fill-mask": ("/fill_mask", {"inputs": "a [MASK]"}), "similarity": ("/v1/embeddings", {"input": ["a", "b"]}),
                 "generate": ("/v1/completions", {"prompt": "the", "max_tokens": 2}), "rerank": ("/rerank", {"query": "a", "texts": ["b"]}),
                 "classify": ("/predict", {"inputs": "a"}), "translate": ("/", {"inputs": ["one two"]}),
                 "tags": ("/", {"inputs": "a b"}), "answers": ("/", {"inputs": {"question": "a", "context": "b c"}}),
                 "attention": ("/attention", {"inputs": "a b"}), "positions": ("/positions", {}), "tokenize": ("/tokenize", {"inputs": "a"})}
        for name, can in ABILITIES.items():
            for ability in can | {"tokenize"}:
                path, body = tries[ability]
                status(s.post(path, {**body, "model": name}), 200)
        # the message names a model that can
        for path, model, other, body in (("/fill_mask", "labels", "model", {"inputs": "a"}), ("/attention", "translate", "model", {"inputs": "a"}),
                                         ("/embed", "pairs", "model", {"inputs": "a"}), ("/generate", "model", "causal", {"inputs": "a"}),
                                         ("/predict", "model", "pairs", {"inputs": "a"})):
            message = status(s.post(path, {**body, "model": model}), 424).json()["error"]
            expect(f"; set `model` to '{other}', which can" in message, path, message)
        status(s.post("/tokenize", {"inputs": "a", "model": "none"}), 404)
        status(s.post("/tokenize", {"inputs": "a", "model": 1}), 422)


@test
def the_demonstration_leaves_out_what_cannot_be_read():
    with Server("alone/roformer", "--demo") as s:
        rows = status(s.ask("GET", "/v1/models"), 200).json()["data"]
        expect([r["id"] for r in rows] == ["roformer-small-en-sentences", "roformer-small-en"], rows)
        expect(re.search("the Chinese model is left out: .*expected a dictionary of words", s.err()), s.err())
        expect("search" in rows[0]["can"], rows)


# ---- attention and positions -----------------------------------------------------------------------------------------

@test
def attention_has_a_distribution_for_each_token():
    with Server(program, "-m", "model", "-m", "causal") as s:
        for name in ("model", "causal"):
            for layer in range(2):
                a = status(s.post("/attention", {"inputs": "the old river", "layer": layer, "head": 1, "model": name}), 200).json()
                rows, n = a["attention"], len(a["tokens"])
                expect(len(rows) == n and all(len(r) == n for r in rows), a)
                expect(all(abs(sum(r) - 1) < 1e-4 and min(r) >= 0 for r in rows), "rows do not sum to 1", rows)
                later = [rows[i][j] for i in range(n) for j in range(i + 1, n)]
                expect((max(later) == 0) == (name == "causal"), name, "sees later tokens", later)
        for body, code in (({"inputs": ""}, 400), ({}, 422), ({"inputs": ["a"]}, 422), ({"inputs": "a", "layer": 9}, 422),
                           ({"inputs": "a", "head": -1}, 422), ({"inputs": "a", "head": 99}, 422), ({"inputs": "river " * 200}, 422),
                           ({"inputs": "a" * 100000}, 422), ({"inputs": "a\0b"}, 400)):
            status(s.post("/attention", body), code)


@test
def positions_are_those_of_the_config():
    with Server(program, "-m", "model") as s:
        bare = status(s.post("/positions", {}), 200).json()
        theta = bare["frequencies"]
        expect(bare["encoding"] == "rotary" and "score" not in bare, bare)
        expect(all(abs(t - 10000 ** (-i / len(theta))) < 1e-5 * t for i, t in enumerate(theta)), theta)
        a = status(s.post("/positions", {"inputs": "the old river", "head": 1, "max_distance": 5}), 200).json()
        n = len(a["tokens"]) + 2
        expect(len(a["score"]["mean"]) == len(a["score"]["deviation"]) == 11, a["score"])
        expect(len(a["by_distance"]) == n and len(a["distance"]) == len(a["entropy"]) == a["layers"] * a["heads"], a)
        # mean weights at each distance, over all pairs, sum to the number of queries
        pairs = [n] + [2 * (n - d) for d in range(1, n)]
        expect(abs(sum(p * w for p, w in zip(pairs, a["by_distance"])) - n) < 1e-3, a["by_distance"])
        again = status(s.post("/attention", {"inputs": "the old river", "head": 1}), 200).json()["attention"]
        for d in range(n):                                # and are those of the map
            mean = sum(again[i][j] for i in range(n) for j in range(n) if abs(i - j) == d) / pairs[d]
            expect(abs(mean - a["by_distance"][d]) < 1e-4, d, mean, a["by_distance"])
        for body, code in (({"max_distance": 0}, 422), ({"layer": 9}, 422), ({"inputs": "river " * 200}, 422), ({"inputs": 1}, 422)):
            status(s.post("/positions", body), code)


@test
def alignments_are_pairs_of_words():
    with Server(program, "-m", "translate", "--languages", "en:de") as s:
        text = "one two three"
        plain = status(s.post("/translate", {"q": text, "source": "en", "target": "de"}), 200).json()
        one = status(s.post("/translate", {"q": text, "source": "en", "target": "de", "alignments": True}), 200).json()
        many = status(s.post("/translate", {"q": [text, "four"], "source": "en", "target": "de", "alignments": True}), 200).json()
        pipeline = status(s.post("/", {"inputs": [text], "parameters": {"alignments": True}}), 200).json()
        expect("alignments" not in plain and one["translatedText"] == plain["translatedText"], plain, one)
        expect(many["alignments"][0] == one["alignments"] == pipeline[0]["alignments"], many, one, pipeline)
        words = one["translatedText"].split()
        expect([t for _, t in one["alignments"]] == list(range(len(words))), one)
        expect(all(0 <= source < 3 for source, _ in one["alignments"]), one)


with open("keys", "w", encoding="ascii") as f:
    f.write("a-key\n")
main()
