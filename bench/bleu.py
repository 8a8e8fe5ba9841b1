#!/usr/bin/env python3
"""bleu.py PROGRAM [LINES]: roformer bleu compared with sacreBLEU, complete commands including start and reading, on synthetic text.

    pip install sacrebleu==2.6.0
    python3 bench/bleu.py build/release/roformer > results/bleu.txt

TER is measured on a fiftieth of the lines: sacreBLEU takes minutes for more."""
import os
import random
import subprocess
import sys
import tempfile
import time


def sentences(r, n):
    """Zipfian words of 2 to 9 letters, 5 to 45 per sentence, with punctuation and numbers; and a system that gets a fifth of them wrong."""
    words = ["".join(r.choice("etaoinshrdlucmfwyp") for _ in range(r.randrange(2, 10))) for _ in range(30000)]
    weight = [1 / (i + 10) for i in range(len(words))]
    total, sums = 0, []
    for w in weight:
        total += w
        sums.append(total)
    for _ in range(n):
        line = r.choices(words, cum_weights=sums, k=r.randrange(5, 46))
        for i in range(0, len(line), 9):
            line[i] += r.choice([",", "", "-like", "'s", " 3.5", ";"])
        other = [w if r.random() > 0.2 else r.choice(line) for w in line]
        yield " ".join(line).capitalize() + ".", " ".join(other).capitalize() + "."


def seconds(command):
    begin, before = time.time(), os.times()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.time() - begin, cpu, out.strip()


def main():
    program, lines = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    sacrebleu = os.path.join(os.path.dirname(sys.executable), "sacrebleu")
    made = list(sentences(random.Random(1), lines))
    print("%-28s %8s  %-18s %-18s %6s" % ("", "lines", "roformer: s, cpu s", "sacreBLEU: s, cpu s", "times"))
    with tempfile.TemporaryDirectory() as t:
        for name, n, ours, theirs in (
                ("BLEU", lines, ["bleu"], ["bleu"]),
                ("chrF", lines, ["chrf"], ["chrf"]),
                ("TER", lines // 50, ["ter"], ["ter"]),
                ("BLEU, 1000 resamples", lines // 50, ["bleu", "--confidence"], ["bleu", "--confidence"])):
            ref, hyp = os.path.join(t, "ref"), os.path.join(t, "hyp")
            for path, k in ((ref, 0), (hyp, 1)):
                with open(path, "w") as f:
                    f.write("".join(x[k] + "\n" for x in made[:n]))
            a, a_cpu, a_out = min(seconds([program, "bleu", "--json", "--metrics", *ours, ref, "-i", hyp]) for _ in range(3))
            b, b_cpu, b_out = seconds([sacrebleu, ref, "-i", hyp, "-w", "2", "-b", "-m", *theirs])
            score = a_out.split('"score":')[1].split(",")[0]
            if float(score) != float(b_out.strip("[] \n\"").split()[0]):
                sys.exit("%s: %s, sacreBLEU %s" % (name, score, b_out))
            print("%-28s %8d  %8.2f %8.2f  %8.2f %8.2f  %6.0f" % (name, n, a, a_cpu, b, b_cpu, b / a), flush=True)


if __name__ == "__main__":
    main()
