"""attack.py PROGRAM [WORD...] — every limit of `roformer serve` under attack: a line for each, with what was measured and its
bound; run by run.sh, whose folder has the models. With words, only the rows whose name holds one. Exit 1 if a bound fails.

HEALTH_SECONDS (default 30): how long the health of generation and translation is watched, with each value of --watchdog."""
import contextlib
import ctypes
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import serve_client
from serve_client import Server, embed, long_text

import attacks
import serve_bodies
import serve_bounds
import serve_faults
import serve_http
from serve_framing import ROWS as FRAMES

program = sys.argv[1]
SENTENCES = attacks.SHIPPED + "/roformer-small-en-sentences"
HEALTH_SECONDS = float(os.environ.get("HEALTH_SECONDS", "30"))
ROWS = []


def row(name, bound):
    def add(function):
        ROWS.append((name, bound, function))
        return function
    return add


@contextlib.contextmanager
def defaults(*options):
    """A server with the limits of time that users have, and the connections that it has when it is idle."""
    kept = dict(serve_client.LONG)
    serve_client.LONG.clear()
    try:
        with Server(program, *options) as s:
            yield s
    finally:
        serve_client.LONG.update(kept)


def timed(s, data, seconds=60.0):
    """(status or None, bytes of the answer, seconds until the server has closed the connection)"""
    begin = time.monotonic()
    got = attacks.whole(s.address, data, seconds)
    return (int(got.split(b" ")[1]) if got.startswith(b"HTTP") else None), len(got), time.monotonic() - begin


def p99(times):
    return sorted(times)[int(0.99 * len(times))]


def ordinary(s, seconds, body=None, fresh=True, path="/embed"):
    """Times of requests, one after the other, each on a new connection; raises if one is not answered with 200."""
    data = attacks.post(path, body or {"inputs": "a dog barks in the old city"}, attacks.CLOSE)
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 100:
        code, _, took = timed(s, data)
        if code != 200:
            raise AssertionError(f"an ordinary request got {code}")
        times.append(took)
        time.sleep(0.005)
    return times


@contextlib.contextmanager
def attacking(function, *arguments):
    """In a process of its own, again and again."""
    def forever():
        os.nice(5)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            try:
                function(*arguments)
            except OSError:
                time.sleep(0.01)
    process = multiprocessing.Process(target=forever)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def tests(*functions):
    """Runs tests of tests/cli/serve; (how many hold, all of them hold)."""
    bad = [f.__name__ for f in functions if serve_client.failed(f)]
    return f"{len(functions) - len(bad)} of {len(functions)} tests{': ' if bad else ''}{', '.join(bad)}", not bad


# ---- health ----------------------------------------------------------------------------------------------------------

def watched(watchdog):
    """How often /health was asked and was red while requests overlap, and how many were answered."""
    asked = red = 0
    answered, end = [0], time.monotonic() + HEALTH_SECONDS
    bodies = [("/v1/completions", {"model": "causal", "prompt": "the old river", "max_tokens": 400 + 37 * k, "temperature": 0}) for k in range(6)]
    bodies += [("/translate", {"model": "translate", "q": ["one two three " * (20 + k)] * 8, "source": "en", "target": "de"}) for k in range(4)]
    with defaults("-m", "causal=slow-causal", "-m", "translate", "--languages", "en:de", *watchdog) as s:
        def client(path, body):
            while time.monotonic() < end:
                code, _, _ = timed(s, attacks.post(path, body, attacks.CLOSE), 600)
                answered[0] += code == 200
        threads = [threading.Thread(target=client, args=b) for b in bodies]
        for t in threads:
            t.start()
        while time.monotonic() < end:
            asked += 1
            red += s.ask("GET", "/health").status != 200
            time.sleep(0.5)
        for t in threads:
            t.join()
    return asked, red, answered[0]


@row("health under continuous batching", "never red")
def health():
    said, bad = [], 0
    for watchdog in ("--watchdog", "3"), ():
        asked, red, answered = watched(watchdog)
        said.append(f"{' '.join(watchdog) or 'default'}: {HEALTH_SECONDS:.0f} s, {answered} answers, {red} of {asked} red")
        bad += red + (not answered)
    return "; ".join(said), not bad


def busiest(pid):
    """The thread that has used most processor time in the last 0.3 s."""
    def used():
        out = {}
        for t in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{t}/schedstat", encoding="ascii") as f:
                out[int(t)] = int(f.read().split()[0])
        return out
    before = used()
    time.sleep(0.3)
    after = used()
    return max(after, key=lambda t: after[t] - before.get(t, 0))


@row("a kernel that is stuck (its thread is stopped)", "red between 3 s and 5 s with --watchdog 3, green 2 s after it goes on")
def stuck():
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt, detach = 0x4206, 0x4207, 17
    body = {"model": "causal", "prompt": "the old river", "max_tokens": 4000, "temperature": 0}
    with defaults("-m", "causal=slow-causal", "--watchdog", "3", "--threads", "1") as s, attacking(timed, s, attacks.post("/v1/completions", body, attacks.CLOSE)):
        time.sleep(1)
        thread = busiest(s.pid)
        if libc.ptrace(seize, thread, None, None) or libc.ptrace(interrupt, thread, None, None):
            return f"ptrace is not permitted ({os.strerror(ctypes.get_errno())}): not measured", True
        os.waitpid(thread, 0x40000000)                                  # __WALL
        begin = time.monotonic()
        while s.ask("GET", "/health").status == 200 and time.monotonic() < begin + 20:
            time.sleep(0.05)
        red, alive = time.monotonic() - begin, s.ask("GET", "/ping").status
        libc.ptrace(detach, thread, None, None)
        begin = time.monotonic()
        while s.ask("GET", "/health").status != 200 and time.monotonic() < begin + 20:
            time.sleep(0.05)
        green = time.monotonic() - begin
    return f"red after {red:.1f} s, /ping {alive}, green after {green:.1f} s", 2 < red < 5 and alive == 200 and green < 2


# ---- answers and inputs ----------------------------------------------------------------------------------------------

@row("requests that cost much, --request-timeout 20", "answers <= 16 MB, 20 s + 1 s, memory +1 GB; then the same vector")
def costly():
    most, slowest, slow, none = 0, 0.0, "", []
    with defaults(*attacks.MODELS, "--request-timeout", "20") as s:
        before, memory = embed(s), s.resident()
        for name, data in attacks.HEAVY.items():
            if name == "generation of 4,000 tokens":
                continue                                                 # it may take its time
            code, size, took = timed(s, data)
            most = max(most, size)
            if name != "chunks without an end":                          # --body-timeout
                slowest, slow = max((slowest, slow), (took, name))
            if code is None and name not in ("a body of 2^63 bytes",):
                none.append(name)
        grown, same = s.resident() - memory, embed(s) == before
    said = f"{len(attacks.HEAVY) - 1} requests: answers <= {most / 1e6:.1f} MB, slowest {slowest:.1f} s ({slow}), memory +{grown / 1e6:.0f} MB"
    return said + (f"; no answer: {', '.join(none)}" if none else ""), most <= 16.1e6 and slowest < 21 and grown < 1e9 and same and not none


@row("answers that would be too large", "422 before they are computed")
def answers():
    return tests(serve_bounds.an_answer_that_would_be_too_large_is_422)


@row("prompts above the context", "400 or 422 with the numbers")
def prompts():
    return tests(serve_bounds.prompts_above_the_context_are_refused)


@row("truncate: false, --no-auto-truncate", "422 on every route")
def truncate():
    return tests(serve_bounds.long_inputs_are_refused_where_they_may_not_be_truncated)


# ---- the end of requests ---------------------------------------------------------------------------------------------

def by_model():
    models = {}
    for path, (model, body) in serve_bounds.HEAVY.items():
        models.setdefault(model, []).append((path, attacks.post(path, body, attacks.CLOSE)))
    return models


def one_thread(model):
    return ("-m", model, *serve_bounds.OPTIONS.get(model, []), "--threads", "1", "--max-answer-bytes", "1000000000")


def worst(rows):
    took, path = max(rows)
    return f"{len(rows)} routes, most {took:.2f} s ({path})"


@row("deadlines: --request-timeout 1, every route", "answered within 1 s + 1 s")
def deadlines():
    rows = []
    for model, requests in by_model().items():
        with defaults(*one_thread(model), "--request-timeout", "1", "--max-wait", "0") as s:
            for path, data in requests:
                rows.append((timed(s, data)[2], path))
    return worst(rows), max(rows)[0] < 2


@row("clients gone, every route", "nothing waits or is computed after 1 s")
def gone():
    rows = []
    for model, requests in by_model().items():
        with defaults(*one_thread(model)) as s:
            for path, data in requests:
                clients = [attacks.connect(s.address) for _ in range(4)]
                for c in clients:
                    attacks.send(c, data)
                time.sleep(0.2)
                begin = time.monotonic()
                for c in clients:
                    attacks.reset(c)
                while s.metric("roformer_inputs") and time.monotonic() < begin + 30:
                    time.sleep(0.01)
                rows.append((time.monotonic() - begin, path))
    return worst(rows), max(rows)[0] < 1


def processor(pid):
    """Seconds of processor time since its start."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        stat = f.read().rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ended(options, signals, bound):
    """How long the server lives after the last signal, for every route: what was measured, and whether it is within the bound.
    If other programs use the processors (load above 4 for each), the server's own processor time counts."""
    rows, used = [], []
    for model, requests in by_model().items():
        for path, data in requests:
            before = of_children()
            with defaults(*one_thread(model), *options) as s:
                clients = [attacks.connect(s.address) for _ in range(4)]
                for c in clients:
                    attacks.send(c, data)
                time.sleep(0.2)
                for _ in range(signals):
                    begin, then = time.monotonic(), processor(s.pid)
                    s.signal(signal.SIGTERM)
                    if signals > 1:
                        time.sleep(0.1)
                code = s.wait()
                rows.append((time.monotonic() - begin, path))
                used.append(of_children() - before - then)
                for c in clients:
                    c.close()
                if code:
                    raise AssertionError(f"{path}: exit {code}")
    good = max(rows)[0] < bound or (max(used) < bound and os.getloadavg()[0] > 4 * os.cpu_count())
    return f"{worst(rows)}; processor time {max(used):.2f} s", good


@row("SIGTERM with --drain-timeout 1, every route", "ends within 1 s + 1 s")
def drain():
    return ended(("--drain-timeout", "1"), 1, 2)


@row("a second signal, every route", "ends within 1 s")
def second():
    return ended(("--drain-timeout", "600"), 2, 1)


# ---- connections and memory ------------------------------------------------------------------------------------------

@row("memory: 1,000 slow clients with bodies of 2 MB", "--max-memory (1 GB) + 64 MB; small requests are answered")
def memory():
    with defaults("-m", SENTENCES) as s:
        before, idle, peak, small = embed(s), s.resident(), 0, 0
        with attacking(attacks.slow_bodies, s.address, 1000, 2000000, 20.0):
            end = time.monotonic() + 20
            while time.monotonic() < end:
                peak = max(peak, s.resident())
                small += embed(s) == before
                time.sleep(0.1)
    return f"memory +{(peak - idle) / 1e6:.0f} MB, {small} small requests answered", peak - idle < 1.064e9 and small > 10


def beside(n):
    """The p99 of ordinary requests without attack, beside an attack on another server of this machine, and under attack."""
    alone, other, own = [], [], []
    with defaults("-m", SENTENCES) as s, defaults("-m", SENTENCES) as elsewhere:
        for _ in range(3):
            alone += ordinary(s, 2)
            for target, times in ((elsewhere, other), (s, own)):
                with attacking(attacks.silent, target.address, n, 5.0):
                    time.sleep(1.5)
                    times += ordinary(s, 3)
                time.sleep(0.5)
    a, b, c = (1e3 * p99(x) for x in (alone, other, own))
    return f"p99 {c:.1f} ms, {b:.1f} ms beside the same attack on another server, {a:.1f} ms without", c <= 2 * max(a, b), len(own)


@row("1,100 renewed silent connections", "all ordinary requests answered, p99 <= 2 x")
def silent():
    said, good, n = beside(1100)
    return f"{n} requests answered; {said}", good


@row("10,000 renewed silent connections", "all ordinary requests answered, p99 <= 2 x")
def silent_many():
    said, good, n = beside(10000)
    return f"{n} requests answered; {said}", good


@row("one client sends 2,048 texts again and again", "p99 of others <= a quarter of the time of such a request, all answered")
def fairness():
    with defaults("-m", SENTENCES) as s:
        alone, whole = ordinary(s, 2), timed(s, attacks.HEAVY["2,048 texts"], 300.0)[2]
        with attacking(timed, s, attacks.HEAVY["2,048 texts"], 300.0):
            time.sleep(0.5)
            times = ordinary(s, 10)
    said = f"{len(times)} answered, p99 {1e3 * p99(times):.0f} ms, alone {1e3 * p99(alone):.0f} ms; the large request alone {1e3 * whole:.0f} ms"
    return said, p99(times) <= whole / 4


@row("32 models in one server", "at most 128 threads (TasksMax of the unit)")
def threads():
    names = [x for i in range(32) for x in ("-m", f"m{i}=model")]
    with defaults(*names) as s:
        n = len(os.listdir(f"/proc/{s.pid}/task"))
    return f"{n} threads", n <= 128


# ---- HTTP ------------------------------------------------------------------------------------------------------------

@row("600 arguments, large headers, 600 cookies, long paths", "answered within 1 s, each counted or logged")
def headers():
    names = ("600 query arguments", "a header of 24 kB", "600 cookies", "a path of 24 kB")
    more = {"a header of 200 kB": b"GET /ping HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 200000 + b"\r\n\r\n",
            "5,000 headers": b"GET /ping HTTP/1.1\r\nHost: a\r\n" + b"X: 1\r\n" * 5000 + b"\r\n",
            "a path of 200 kB": b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"}
    rows = []
    with defaults("-m", "model") as s:
        for name, data in {**{n: attacks.HEAVY[n] for n in names}, **more}.items():
            code, _, took = timed(s, data)
            rows.append((name, code, took))
        unreadable = s.metric("roformer_http_unreadable_total")
    slowest = max(r[2] for r in rows)
    said = ", ".join(f"{name}: {code}" for name, code, _ in rows)
    return f"{said}; {unreadable:.0f} by libmicrohttpd; slowest {slowest:.2f} s", slowest < 1


@row(f"framing: {len(FRAMES)} requests made by hand", "no part of a body becomes a request")
def framing():
    return tests(serve_http.s4_unclear_framing_is_refused_and_nothing_after_it_is_read, serve_http.whole_headers_are_taken_however_they_arrive)


@row("Host, Origin (DNS rebinding, cross-site POST)", "403")
def origins():
    return tests(serve_http.pages_of_other_sites_cannot_use_a_server_of_this_machine)


@row("keys: wrong ones, SIGHUP, the environment, bodies", "401 unless the key is right")
def keys():
    return tests(serve_faults.s17_api_keys, serve_bodies.api_keys_are_read_again, serve_bodies.libretranslate_has_its_key_in_the_body)


@row("10,000 wrong keys a client, 4 clients", "every one 401; the right key p99 <= 100 ms")
def wrong_keys():
    with open("keys", "w", encoding="ascii") as f:
        f.write("right\n")
    wrong = attacks.post("/embed", {"inputs": "a"}, ("Authorization: Bearer wrong",)) * 100
    right = attacks.post("/embed", {"inputs": "a"}, (*attacks.CLOSE, "Authorization: Bearer right"))

    def client(address):
        for _ in range(100):
            with attacks.connect(address) as c:
                attacks.send(c, wrong)
                attacks.receive(c)
    with defaults("-m", "model", "--api-key-file", "keys") as s:
        with attacking(client, s.address), attacking(client, s.address), attacking(client, s.address), attacking(client, s.address):
            times = []
            for _ in range(300):
                code, _, took = timed(s, right)
                if code != 200:
                    raise AssertionError(f"the right key got {code}")
                times.append(took)
                time.sleep(0.01)
        counted = s.metric('roformer_http_responses_total{code="4xx"}')
    return f"{counted:.0f} refused, the right key p99 {1e3 * p99(times):.0f} ms", counted > 100 and p99(times) <= 0.1


@row("the log on a full disk (128 kB), which is then emptied", "all answered; no half line")
def full_disk():
    with tempfile.TemporaryDirectory() as disk:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], capture_output=True).returncode:
            return "no permission to mount a small disk: not measured", True
        try:
            log = os.path.join(disk, "log")
            with open(os.path.join(disk, "other"), "wb") as f:
                f.write(b"x" * 64000)
            with defaults("-m", "model", "--access-log", log) as s:
                data = attacks.post("/embed", {"inputs": "a"}, attacks.CLOSE)
                codes = {timed(s, data)[0] for _ in range(600)}
                full = os.path.getsize(log)
                os.remove(os.path.join(disk, "other"))
                codes |= {timed(s, data)[0] for _ in range(100)}
            with open(log, encoding="utf-8") as f:
                lines = f.read().split("\n")
            half = sum(not (line.startswith('{"time"') and line.endswith("}")) for line in lines[:-1]) + bool(lines[-1])
        finally:
            subprocess.run(["umount", disk], check=True)
    return f"700 requests: {codes}; {full} bytes when full, then {len(lines) - 1} lines, {half} not whole", codes == {200} and not half


@row("the rest: slashes, forms, characters, methods, CORS, bodies that are not JSON", "as documented")
def rest():
    return tests(serve_http.methods_head_options_cors, serve_http.characters_are_counted, serve_http.s9_only_the_routes_themselves_are_found,
                 serve_bodies.json_under_the_type_of_a_form_is_json, serve_bodies.s5_s6_bodies_that_are_not_json_are_400,
                 serve_bodies.s5_numbers_out_of_range_are_refused_by_name, serve_faults.s18_logs_are_escaped_and_pages_run_no_scripts)


def measure(name, bound, function):
    """Prints the row; one that fails is measured once more, since other programs may use the machine."""
    for attempt in range(2):
        begin = time.monotonic()
        try:
            said, good = function()
        except (AssertionError, OSError, subprocess.SubprocessError) as e:
            said, good = f"{type(e).__name__}: {str(e)[:300]}", False
        again = " (the first time: FAILED)" if attempt else ""
        print(f"| {name} | {said} | {bound} | {'held' if good else 'FAILED'}{again} | {time.monotonic() - begin:.0f} s, load {os.getloadavg()[0]:.1f} |", flush=True)
        if good:
            return True
    return False


def main():
    words = sys.argv[2:]
    begin = time.monotonic()
    print("| attack | measured | bound | | |\n|---|---|---|---|---|", flush=True)
    bad = [name for name, bound, function in ROWS if (not words or any(w in name for w in words)) and not measure(name, bound, function)]
    print(f"\n{'FAILED: ' + '; '.join(bad) if bad else 'all bounds held'}; {time.monotonic() - begin:.0f} s; {json.dumps(os.uname().machine)}, {os.cpu_count()} processors")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
