#!/usr/bin/env python3
"""Lets roformer and other programs do the same work in turns, in one run, and prints how they compare.

    bench/compare.py --roformer build/release/roformer --python build/peers/v/bin/python forward train -o results/x.jsonl

Each round runs every program once on each shape, in an order that rotates; who waits is stopped (SIGSTOP), so that idle
worker threads of one do not disturb the other.  The last column is the median over the rounds of (time of the peer / time
of roformer) within a round; the share of the peak uses the peak that roformer measured in the same round.  Needs nothing
but Python 3.9; the peers' packages are bench/peers/setup.sh's."""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
LENGTHS = os.path.join(PEERS, "lengths.txt")

# case (-bf16: ours too): (shapes, the row of `roformer bench` that is meant, the peers' programs)
CASES = {
    "forward": (["8x128", "4x512", "1x16", "@lengths"], "encoder",
                ["torch_forward.py", "onnxruntime_forward.py", "openvino_forward.py", "ctranslate2_forward.py"]),
    "forward-bf16": (["8x128", "4x512", "1x16"], "encoder", ["torch_forward.py bf16", "openvino_forward.py bf16"]),
    "forward-int8": (["8x128", "4x512", "1x16", "@lengths"], "encoder",
                     ["onnxruntime_forward.py int8", "openvino_forward.py int8", "ctranslate2_forward.py int8"]),
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
    """A program of bench/peers that waits, stopped, for its turns."""

    def __init__(self, command, python, threads):
        self.name = command
        env = dict(os.environ, THREADS=str(threads), PEERS=os.environ.get("PEERS", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(python))))))
        program, *arguments = command.split()
        self.process = subprocess.Popen([python, os.path.join(PEERS, program), *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        self.about = self.line()
        if self.about:
            self.name = self.about["engine"]
            self.process.send_signal(signal.SIGSTOP)

    def line(self):
        """The next line that is a JSON object; None at the end.  Libraries print other things, too."""
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return None

    def turn(self, case):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        answer = self.line() or {"error": "it ended"}
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.close()
            self.process.wait(60)


class Roformer:
    """One process a turn."""
    name = "roformer"

    def __init__(self, options, row):
        self.options, self.row = options, row

    def beside(self, bench, options, wanted):
        """The first wanted line of one of the benches that lie beside the program."""
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


def measure(bench, o, out):
    shapes, row, programs = CASES[bench]
    if o.shape:
        shapes = o.shape
    if bench == "tokenize" and not (o.text and o.vocab):
        sys.exit("compare.py: tokenize needs --text and --vocab")
    peers = [Peer(p, o.python, o.threads) for p in programs if not o.only or any(p.startswith(x) for x in o.only)]
    for p in peers:
        if not p.about:
            print(f"compare.py: {p.name} did not start (bench/peers/setup.sh makes what it needs)", file=sys.stderr)
    engines = [Roformer(o, row)] + [p for p in peers if p.about]
    seen = {}
    try:
        for r in range(o.rounds):
            for shape in shapes:
                case = work_of(bench, shape, o)
                label = shape if bench in ("relative", "linear", "train-linear") else case["shape"]
                for e in engines[r % len(engines):] + engines[:r % len(engines)]:
                    got = dict(e.turn(case), bench=bench, shape=label, engine=e.name, round=r)
                    out.write(json.dumps(got) + "\n")
                    out.flush()
                    seen.setdefault(label, {}).setdefault(e.name, []).append(got)
    finally:
        for p in peers:
            p.end()
    return seen


def table(bench, seen):
    wide = max([14, *map(len, seen)])
    for shape, engines in seen.items():
        ours = engines["roformer"]
        for name, got in engines.items():
            errors = [g["error"] for g in got if "error" in g]
            if errors:
                print(f"{bench:10} {shape:{wide}} {name:28} {errors[0]}")
                continue
            middle = lambda key: statistics.median(g[key] for g in got)
            line = f"{bench:10} {shape:{wide}} {name:28} {middle('ms'):10.3f} ms"
            if "tokens_per_second" in got[0]:
                line += f" {middle('tokens_per_second'):12.0f} tokens/s"
            if "gflops" in got[0]:
                shares = [g["gflops"] / (u["gflops"] / u["share_of_fma_peak"]) for g, u in zip(got, ours) if "share_of_fma_peak" in u]
                line += f" {middle('gflops'):7.1f} GFLOP/s" + (f" {100 * statistics.median(shares):5.1f} % of peak" if shares else "")
            elif "gbytes_per_second" in got[0]:
                line += f" {middle('gbytes_per_second'):9.4f} GB/s"
            if name != "roformer" and not any("error" in u for u in ours):
                line += f"   {statistics.median(g['ms'] / u['ms'] for g, u in zip(got, ours)):6.2f} x"
            print(line, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("case", nargs="+", choices=list(CASES))
    p.add_argument("--roformer", default=os.path.join(HERE, "..", "build", "release", "roformer"))
    p.add_argument("--python", default=os.path.join(HERE, "..", "build", "peers", "v", "bin", "python"))
    p.add_argument("--only", action="append", help="peers whose program begins with this; may be given again")
    p.add_argument("--shape", action="append", help="instead of the usual shapes; may be given again")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2, help="of each turn")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--busy", action="store_true", help="on a machine that others use, of linear: one thread, the processor's time")
    p.add_argument("--text", help="what is tokenized")
    p.add_argument("--vocab", help="vocab.txt for the peers' tokenizer")
    p.add_argument("--model", help="model folder for roformer's tokenizer (the same vocabulary)")
    p.add_argument("-o", "--output", default=os.devnull, help="every single measurement, one JSON object a line")
    o = p.parse_args()
    if o.busy:
        o.threads = 1
        os.environ["BUSY"] = "1"
    with open(o.output, "w") as out:
        for bench in o.case:
            table(bench, measure(bench, o, out))


if __name__ == "__main__":
    main()
