#!/usr/bin/env python3
"""Runs roformer and other programs alternately on the same work, in one run, and prints a comparison.

    bench/compare.py --roformer build/release/roformer --python build/peers/v/bin/python forward train -o results/x.jsonl

Each round runs every program once on each shape, in an order that rotates; waiting programs are stopped (SIGSTOP), so that idle
worker threads of one do not disturb the other.  Every measurement is printed as it is made, and added to the file of -o; a
table of medians ends a case.  The last column is the median over the rounds of (time of the peer / time of roformer)
within a round; the share of the peak uses the peak that roformer measured in the same round.

If it is stopped and called again with the same -o, it measures only the missing rounds.  A peer that is
not installed is left out, with a message.  Needs nothing but Python 3.9; the peers' packages are bench/peers/setup.sh's."""
import argparse
import hashlib
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
LENGTHS = os.path.join(PEERS, "lengths.txt")

# --isa: the environment that limits every program to these instructions.  ONNX Runtime has no such setting and is left out.
LIMITS = {
    "avx2": {"ROFORMER_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2",
             "MKL_ENABLE_INSTRUCTIONS": "AVX2", "CT2_FORCE_CPU_ISA": "AVX2"},
}
UNLIMITED = "onnxruntime"

# case (-bf16: ours too): (shapes, the row of `roformer bench` that is meant, the peers' programs)
CASES = {
    "forward": (["8x128", "4x512", "1x16", "@lengths"], "encoder",
                ["torch_forward.py", "torch_forward.py f32 compile", "onnxruntime_forward.py", "openvino_forward.py", "ctranslate2_forward.py"]),
    "forward-bf16": (["8x128", "4x512", "1x16", "@lengths"], "encoder",
                     ["torch_forward.py bf16", "torch_forward.py bf16 compile", "ipex_forward.py bf16", "openvino_forward.py bf16",
                      "ctranslate2_forward.py bfloat16"]),
    "forward-int8": (["8x128", "4x512", "1x16", "@lengths"], "encoder",
                     ["torch_forward.py int8 compile", "onnxruntime_forward.py int8", "openvino_forward.py int8", "ctranslate2_forward.py int8"]),
    "train": (["8x128", "2x512"], "step", ["torch_train.py", "torch_train.py f32 compile"]),
    "train-bf16": (["8x128", "2x512"], "step", ["torch_train.py bf16", "torch_train.py bf16 compile"]),
    "translation": (["f32"], None, ["torch_translation.py f32 random", "torch_translation.py f32 grouped"]),
    "translation-bf16": (["bf16"], None, ["torch_translation.py bf16 random", "torch_translation.py bf16 grouped"]),
    "attention": (["8x128", "4x512", "1x2048"], "attention", ["torch_kernels.py fused", "torch_kernels.py eager"]),
    "attention-bf16": (["8x128", "4x512", "1x2048"], "attention", ["torch_kernels.py fused bf16", "torch_kernels.py eager bf16"]),
    "relative": ([f"{kind} {shape}{both}" for shape in ("8x128", "4x512") for both in ("", " both ways")
                  for kind in ("alibi", "t5", "shaw", "nezha", "transformer_xl", "xlnet", "deberta")], None, ["torch_relative.py"]),
    "linear": (["causal 4096", "encoder 4096", "encoder 4096 both ways", "causal 1024 both ways"], None, ["performer_linear.py"]),
    "train-linear": (["encoder 1x8192", "causal 1x2048"], "step", ["performer_train.py"]),
    "rope": (["4096x12x64", "512x12x64"], "pairs", ["torch_kernels.py fused", "torch_kernels.py eager"]),
    "tokenize": ([""], None, ["tokenizers_encode.py lines", "tokenizers_encode.py batch"]),
}


class Peer:
    """A program of bench/peers, which is stopped until its next turn."""

    def __init__(self, command, o):
        self.name, self.about, self.process = command, None, None
        peers = os.environ.get("PEERS", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(o.python)))))
        program, *arguments = command.split()
        own = os.path.join(peers, program.partition("_")[0], "bin", "python")       # of a peer that needs other versions
        python = own if os.path.exists(own) else o.python
        env = dict(os.environ, THREADS=str(o.threads), PEERS=peers, OMP_PROC_BIND="close", OMP_PLACES="cores")
        if o.family:
            env["PEER_FAMILY"] = o.family
        with tempfile.TemporaryFile("w+") as errors:
            try:
                self.process = subprocess.Popen([python, os.path.join(PEERS, program), *arguments], stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
                self.about = self.line()
            except OSError as e:
                self.why = f"{python}: {e.strerror}"
            if self.about:
                self.name = self.about["engine"]
                self.process.send_signal(signal.SIGSTOP)
            elif self.process:
                self.process.wait()
                errors.seek(0)
                self.why = (errors.read().strip().splitlines() or ["it ended without a word"])[-1]

    def line(self):
        """The next line that is a JSON object; None at the end.  Libraries print other things, too."""
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return None

    def turn(self, case):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            answer = self.line() or {"error": "it ended"}
        except BrokenPipeError:
            answer = {"error": "it ended"}
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()


class Roformer:
    """One process a turn."""
    name = "roformer"

    def __init__(self, options, row):
        self.options, self.row = options, row

    def beside(self, bench, options, wanted):
        """The first wanted line of a bench in the folder of the program."""
        o = self.options
        command = [os.path.join(os.path.dirname(o.roformer), "bench", bench), "--json", "--threads", str(o.threads), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        rows = [r for r in map(json.loads, done.stdout.splitlines()) if wanted(r)]
        return rows[0] if rows else {"error": done.stderr.strip()[:300] or "no such row"}

    def step_of(self, case):
        """A training step of the model of peers/performer.json."""
        o = self.options
        with open(os.path.join(PEERS, "performer.json")) as f:
            config = dict(json.load(f), is_decoder=case["causal"])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(config, f)
            f.flush()
            command = [o.roformer, "bench", "train", "--config", f.name, "--shape", case["shape"], "--json", "--seconds", str(case["seconds"]),
                       "--threads", str(o.threads)]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr.strip()[:300]}
        report = json.loads(done.stdout)
        return dict(report["rows"][0], peak_rss_mb=report["peak_rss_mb"])

    def turn(self, case):
        if case["bench"].startswith("relative/"):
            what = "both ways" if case["both"] else "with tables"
            return self.beside("bench_relative", ["--rounds", "3", "--shape", case["shape"], "--only", case["kind"]], lambda r: r["what"] == what)
        if case["bench"] == "linear":
            what = "linear both" if case["both"] else "linear forward"
            tokens = ["--rounds", "3", "--shortest", str(case["tokens"]), "--longest", str(case["tokens"])]
            more = ([] if case["causal"] else ["--encoder"]) + (["--busy"] if self.options.busy else [])
            return self.beside("bench_linear", tokens + more, lambda r: r["case"] == what)
        if case["bench"] == "train-linear":
            return self.step_of(case)
        if case["bench"] == "translation":
            options = ["--type", case["shape"], "--pairs", os.path.join(PEERS, "pairs.txt")]
            return self.beside("bench_translation", options, lambda r: True)
        o = self.options
        command = [o.roformer, "bench", case["bench"], "--json", "--seconds", str(case["seconds"]), "--threads", str(o.threads)]
        if "dtype" in case:
            command += ["--dtype", case["dtype"]]
        if case["bench"] == "tokenize":
            command += ["--text", o.text] + (["--model", o.model] if o.model else [])
        elif case["bench"] != "rope":
            if o.family:
                command += ["--config", o.config]
            command += ["--shape", "@" + LENGTHS if "batches" in case else case["shape"]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr.strip()[:300]}
        rows = [r for r in json.loads(done.stdout)["rows"] if self.row in (None, r["what"])]
        if case["bench"] == "rope":
            rows = [r for r in rows if r["shape"] == case["shape"]]
        return rows[0] if rows else {"error": "no such row"}


def work_of(bench, shape, o):
    bench, _, dtype = (bench, "", "") if bench == "train-linear" else bench.partition("-")
    case = {"bench": bench, "shape": shape, "seconds": o.seconds, **({"dtype": dtype} if dtype else {})}
    if shape == "@lengths":
        with open(LENGTHS) as f:
            case.update(shape="256 sentences", batches=[[int(x) for x in line.split()] for line in f])
    if bench == "tokenize":
        case.update(text=o.text, vocab=o.vocab)
    if bench == "relative":
        kind, shape, *both = shape.split(" ", 2)
        case.update(bench=f"relative/{kind}", kind=kind, shape=shape, both=bool(both))
    if bench == "train-linear":
        kind, shape = shape.split()
        case.update(shape=shape, causal=kind == "causal")
    if bench == "linear":
        kind, tokens, *both = shape.split(" ", 2)
        case.update(causal=kind == "causal", tokens=int(tokens), both=bool(both))
    return case


class Hold:
    """--hold: a command that stops other work on the machine. It prints a line when it has done so, and exits at the end of its standard input."""

    def __init__(self, command):
        self.command, self.process, self.since = shlex.split(command or ""), None, 0

    def begin(self):
        """Called before a turn. After 40 seconds, other programs get the machine for a moment."""
        if self.process and time.monotonic() - self.since > 40:
            self.end()
        if self.command and not self.process:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if not self.process.stdout.readline():
                sys.exit(f"compare.py: --hold {shlex.join(self.command)}: expected a line when it is ready, got the end of its output")
            self.since = time.monotonic()

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


class Record:
    """The file of -o: one JSON object per line. A line with "run" describes the machine and the programs of the lines after it; an existing file is continued only with the same."""

    def __init__(self, o):
        self.rows = {}                              # (bench, shape, round) -> {engine: row}
        self.engines = {}                           # the peers' programs that were ever started -> the names they gave themselves
        with open(o.roformer, "rb") as f:
            program = hashlib.sha256(f.read()).hexdigest()[:12]
        run = {"roformer": program, "threads": o.threads, "seconds": o.seconds, "processor": processor()}
        if o.family:
            run["family"] = o.family
        if o.isa:
            run["isa"] = o.isa
        known = []
        if o.output != os.devnull and os.path.exists(o.output):
            with open(o.output) as f:
                known = list(map(whole, f))
        if known and not any(line and "run" in line for line in known):
            sys.exit(f"compare.py: {o.output}: expected a line that tells what was measured, got none; name another file with -o, or remove it")
        for line in filter(None, known):
            if line.get("run", run) != run:
                odd = next(k for k in {**run, **line["run"]} if line["run"].get(k) != run.get(k))
                sys.exit(f"compare.py: {o.output}: {odd}: expected {run.get(odd)}, got {line['run'].get(odd)}; name another file with -o, or remove it")
            if "error" not in line:
                self.keep(line)
        self.file = open(o.output, "a")
        if known and known[-1] is None:             # its last line was cut
            self.file.write("\n")
        if not known:
            self.add({"run": run})

    def keep(self, line):
        if "round" in line:
            self.rows.setdefault((line["bench"], line["shape"], line["round"]), {})[line["engine"]] = line
        elif "program" in line:
            self.engines[line["program"]] = line["engine"]

    def has_all(self, bench, programs, labels, rounds):
        """Whether all rounds are complete."""
        names = {"roformer", *map(self.engines.get, programs)}
        return all(names <= set(self.rows.get((bench, label, r), {})) for label in labels for r in range(rounds))

    def add(self, line):
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        self.keep(line)


def whole(line):
    """The object of a line; None if the line is incomplete because the writer was killed."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def processor():
    with open("/proc/cpuinfo") as f:
        names = [line.partition(":")[2].strip() for line in f if line.startswith(("model name", "CPU part"))]
    return names[0] if names else "unknown"


def engines_of(bench, programs, o, record):
    """roformer, and the other programs that are installed."""
    peers = [Peer(p, o) for p in programs]
    for program, p in zip(programs, peers):
        if p.about:
            record.add(dict(p.about, program=program))
        else:
            print(f"compare.py: {p.name} is left out: {p.why} (bench/peers/setup.sh installs what it needs)", file=sys.stderr, flush=True)
    return [Roformer(o, CASES[bench][1])] + [p for p in peers if p.about]


def said(row, ours, rounds):
    """Prints one measurement when it is complete."""
    line = f"{row['bench']:12} {row['shape']:14} round {row['round'] + 1}/{rounds}  {row['engine']:28} "
    if "error" in row:
        return line + row["error"]
    more = f"   {row['ms'] / ours['ms']:6.2f} x" if row is not ours and ours and "ms" in ours else ""
    return line + f"{row['ms']:10.3f} ms{more}"


def measure(bench, o, record):
    shapes = o.shape or CASES[bench][0]
    if bench == "tokenize" and not (o.text and o.vocab):
        sys.exit("compare.py: tokenize needs --text and --vocab")
    cases = [work_of(bench, shape, o) for shape in shapes]
    labels = shapes if bench in ("relative", "linear", "train-linear") else [case["shape"] for case in cases]
    programs = [p for p in CASES[bench][2] if (not o.only or any(p.startswith(x) for x in o.only)) and not any(x in p for x in o.without)]
    if not record.has_all(bench, programs, labels, o.rounds):
        take_turns(bench, list(zip(cases, labels)), engines_of(bench, programs, o, record), o, record)
    table(bench, record, labels, o.rounds)


def take_turns(bench, cases, engines, o, record):
    hold, names = Hold(o.hold), {e.name for e in engines}
    lacking = [(r, case, label) for r in range(o.rounds) for case, label in cases if not names <= set(record.rows.get((bench, label, r), {}))]
    try:
        for e in engines[1:]:
            if e.about.get("compiles"):             # not in a turn: nobody else has to wait for it
                for label, case in {label: case for _, case, label in lacking}.items():
                    print(f"{bench:12} {label:14} compiled by   {e.name}", flush=True)
                    e.turn(dict(case, seconds=0))
        for r, case, label in lacking:
            for e in engines[r % len(engines):] + engines[:r % len(engines)]:
                hold.begin()
                row = dict(e.turn(case), bench=bench, shape=label, engine=e.name, round=r)
                record.add(row)
                print(said(row, record.rows[bench, label, r].get("roformer"), o.rounds), flush=True)
    except BaseException:
        table(bench, record, [label for _, label in cases], o.rounds)
        raise
    finally:
        hold.end()
        for e in engines[1:]:
            e.end()


def table(bench, record, labels, rounds):
    """Medians over the rounds that are complete for every program."""
    wide = max([14, *map(len, labels)])
    for label in labels:
        done = [record.rows[bench, label, r] for r in range(rounds) if "roformer" in record.rows.get((bench, label, r), {})]
        for name in dict.fromkeys(name for row in done for name in row):
            pairs = [(row[name], row["roformer"]) for row in done if name in row]
            line = f"{bench:12} {label:{wide}} {name:28} "
            errors = [g["error"] for g, _ in pairs if "error" in g]
            if errors:
                print(line + errors[0])
                continue
            middle = lambda key: statistics.median(g[key] for g, _ in pairs)
            line += f"{middle('ms'):10.3f} ms"
            if all("tokens_per_second" in g for g, _ in pairs):
                line += f" {middle('tokens_per_second'):12.0f} tokens/s"
            if all("gflops" in g for g, _ in pairs):
                shares = [g["gflops"] / (u["gflops"] / u["share_of_fma_peak"]) for g, u in pairs if "share_of_fma_peak" in u]
                line += f" {middle('gflops'):7.1f} GFLOP/s" + (f" {100 * statistics.median(shares):5.1f} % of peak" if shares else "")
            elif all("gbytes_per_second" in g for g, _ in pairs):
                line += f" {middle('gbytes_per_second'):9.4f} GB/s"
            if name != "roformer" and not any("error" in u for _, u in pairs):
                line += f"   {statistics.median(g['ms'] / u['ms'] for g, u in pairs):6.2f} x"
            if len(pairs) < rounds:
                line += f"   ({len(pairs)} of {rounds} rounds)"
            print(line, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("case", nargs="+", choices=list(CASES))
    p.add_argument("--roformer", default=os.path.join(HERE, "..", "build", "release", "roformer"))
    p.add_argument("--python", default=os.path.join(HERE, "..", "build", "peers", "v", "bin", "python"))
    p.add_argument("--only", action="append", help="peers whose program begins with this; may be given again")
    p.add_argument("--without", action="append", default=[], help="no peers whose command has this in it; may be given again")
    p.add_argument("--shape", action="append", help="instead of the usual shapes; may be given again")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2, help="of each turn")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--family", help="a row of bench/families.json: 6 layers of that family in RoFormer's place (forward)")
    p.add_argument("--isa", choices=list(LIMITS), help="limit every program to these instructions; leaves out the peers that cannot be limited. The "
                   "caches are still this machine's")
    p.add_argument("--busy", action="store_true", help="on a machine that others use, of linear: one thread, the processor's time")
    p.add_argument("--text", help="what is tokenized")
    p.add_argument("--vocab", help="vocab.txt for the peers' tokenizer")
    p.add_argument("--model", help="model folder for roformer's tokenizer (the same vocabulary)")
    p.add_argument("--hold", help="a command that runs while turns do: it keeps other work off the machine, prints a line when it does so, and "
                   "ends at the end of its input")
    p.add_argument("-o", "--output", default=os.devnull, help="every single measurement is added to it, one JSON object a line; what it holds is not "
                   "measured again")
    o = p.parse_args()
    if o.busy:
        o.threads = 1
        os.environ["BUSY"] = "1"
    if o.isa:
        os.environ.update(LIMITS[o.isa])
        o.without.append(UNLIMITED)
    if o.family:
        with open(os.path.join(HERE, "families.json")) as f:
            config = dict(json.load(f)[o.family], num_hidden_layers=6, vocab_size=30528)
        kept = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(config, kept)
        kept.flush()
        o.config = kept.name
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        record = Record(o)
    except OSError as e:
        sys.exit(f"compare.py: {e.filename}: {e.strerror}")
    for bench in o.case:
        measure(bench, o, record)


if __name__ == "__main__":
    main()
