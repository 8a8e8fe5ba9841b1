#!/usr/bin/env python3
"""Translates the same lines with the same folder (Marian, T5, NLLB) by roformer, CTranslate2 and transformers, alternating in one run.

    bench/translate.py --python build/peers/v/bin/python --model DIR --text test.en [--reference test.de] [--beams 4] [--forced N] [--rounds 3]

Each round every program translates all lines once, in an order that rotates; waiting programs are stopped (SIGSTOP).  It prints medians of the
seconds and of (seconds of the peer / seconds of roformer) within a round: of the clock, and of the processors, which is what counts on a shared machine (give --threads 1 then: threads that wait for each other spin).  Roformer's seconds include its tokenizer, the
peers' do not.  With --reference also the BLEU of each, and how many lines are those of roformer.  With --forced N every translation has N
tokens: for untrained weights."""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"))
a.add_argument("--python", default=os.path.join(HERE, "..", "build", "peers", "v", "bin", "python"))
a.add_argument("--model", required=True)
a.add_argument("--text", required=True)
a.add_argument("--reference")
a.add_argument("--beams", type=int, default=4)
a.add_argument("--forced", type=int, default=0)
a.add_argument("--most", type=int, default=256, help="new tokens of a translation")
a.add_argument("--early", action="store_true", help="roformer, too, ends a search as CTranslate2 does: with as many texts as there are beams")
a.add_argument("--threads", type=int, default=2)
a.add_argument("--rounds", type=int, default=3)
a.add_argument("--peers", default="ctranslate2,transformers")
a.add_argument("--batch", default="ctranslate2=0,transformers=32", help="sentences at a time, 0: 2048 tokens")
a = a.parse_args()


class Program:
    def __init__(self, command, out=None):
        env = dict(os.environ, THREADS=str(a.threads), OMP_NUM_THREADS=str(a.threads))
        self.out = out
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        self.about = self.line()
        self.rows = []
        self.process.send_signal(signal.SIGSTOP)

    def line(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit("a program ended: " + " ".join(self.process.args))

    def turn(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.rows.append(self.line())
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


def bleu(lines):
    return subprocess.run([os.path.join(a.build, "roformer"), "bleu", a.reference, "--quiet"], input="".join(lines), text=True,
                          capture_output=True).stdout.strip()


def main():
    folder = tempfile.mkdtemp()
    common = ["--model", a.model, "--text", a.text, "--beams", str(a.beams), "--forced", str(a.forced)]
    batch = dict(x.split("=") for x in a.batch.split(","))
    programs = {"roformer": Program([os.path.join(a.build, "bench", "bench_translate"), *common, "--threads", str(a.threads), "--serve",
                                     *([] if a.forced else ["--new", str(a.most)]), *(["--early"] if a.early else [])])}
    for name in filter(None, a.peers.split(",")):
        out = os.path.join(folder, name)
        programs[name] = Program([a.python, os.path.join(HERE, "peers", "translate.py"), name, *common, "--batch", batch.get(name, "0"), "--most", str(a.most),
                                  "--out", out], out)
    names = list(programs)
    for i in range(a.rounds):
        for k in range(len(names)):
            programs[names[(i + k) % len(names)]].turn()
    for p in programs.values():
        p.end()
    ours = programs["roformer"].rows
    print(f"{ours[0]['texts']} lines, {a.beams} beams, {a.threads} threads, {a.rounds} rounds: {a.model}")
    for name, p in programs.items():
        median = lambda f: statistics.median(f(r, o) for r, o in zip(p.rows, ours))
        print(f"{name:13} {p.about.get('version', ''):28} {median(lambda r, o: r['seconds']):8.2f} s {median(lambda r, o: r['processor']):8.2f} s of processors"
              f" {median(lambda r, o: r['seconds'] / o['seconds']):6.2f} x {median(lambda r, o: r['processor'] / o['processor']):6.2f} x of processors"
              f" {p.rows[-1]['tokens']:8d} tokens {p.rows[-1]['peak_mb']:7.0f} MB")
    if not a.reference:
        return
    own = subprocess.run([os.path.join(a.build, "roformer"), "translate", "-m", a.model, "--num_beams", str(a.beams), "-n", str(a.most),
                          *(["--early_stopping", "true"] if a.early else [])],
                         stdin=open(a.text), capture_output=True, text=True).stdout.splitlines(True)
    print(f"{'roformer':13} {bleu(own)}")
    for name, p in programs.items():
        if p.out:
            lines = open(p.out, encoding="utf8").readlines()
            print(f"{name:13} {bleu(lines)}, {sum(x == y for x, y in zip(lines, own))} of {len(own)} lines are roformer's")


main()
