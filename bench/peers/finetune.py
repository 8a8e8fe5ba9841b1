#!/usr/bin/env python3
"""Fine-tunes MRPC with transformers' Trainer and with roformer, alternating in one run: RoFormer-base, random weights, batches of
32 real pairs.

    build/peers/v/bin/python bench/peers/finetune.py [f32 bf16] [--roformer build/release/roformer] [--data ../shared/data]

Both read the same file of the first (STEPS + 1) x 32 pairs of MRPC's training set with the same WordPiece vocabulary, cut at
128 tokens, and take AdamW steps (clipping, linear decay, dropout 0.1).  The Trainer pads each batch to its longest pair
(DataCollatorWithPadding), roformer packs.  Each turn is a process of its own; counted is the time from the end of the first
step to the end of the last, so neither loading nor saving.  A round is a turn of both in each type that is named (both, unless it
is said): bf16 is --bf16 of either (the Trainer's autocast).  Ratios are of turns of one round, their median is over the rounds; the
last line of bf16 is ours against the Trainer in f32, which is what it does when nobody asks for more."""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
BATCH, LONGEST, EPOCH = 32, 128, 115            # 3,668 pairs of MRPC are 115 batches


def rows_of(path):
    """[label, sentence 1, sentence 2] of a file of MRPC."""
    with open(path, encoding="utf-8-sig") as f:
        lines = [line.rstrip("\r\n").split("\t") for line in f]
    return [[c[0], c[3], c[4]] for c in lines[1:]]


def make_model(folder, o):
    """A model folder with random weights, and the file of pairs; prints how full the Trainer's batches are."""
    from peer import roformer_config
    import torch
    import transformers
    shutil.copy(o.vocab, os.path.join(folder, "vocab.txt"))
    tokenizer = transformers.BertTokenizerFast(os.path.join(folder, "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    size = {k: getattr(o, k) for k in ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size") if getattr(o, k)}
    if o.hidden_size:
        size["embedding_size"] = o.hidden_size
    config = roformer_config(vocab_size=len(tokenizer), num_labels=2, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, **size)
    transformers.RoFormerForSequenceClassification(config).save_pretrained(folder)
    rows = rows_of(os.path.join(o.data, "glue", "MRPC", "train.tsv"))[:BATCH * (o.steps + 1)]
    with open(os.path.join(folder, "train.tsv"), "w", encoding="utf-8") as f:
        f.write("label\ttext\tpair\n" + "".join("\t".join(r) + "\n" for r in rows))
    lengths = [len(x) for x in tokenizer([r[1] for r in rows], [r[2] for r in rows], truncation=True, max_length=LONGEST)["input_ids"]]
    padded = sum(BATCH * max(lengths[i:i + BATCH]) for i in range(0, len(lengths), BATCH))
    print(f"MRPC, batches of {BATCH}, pairs of {sum(lengths) / len(lengths):.1f} tokens on average; padded to the longest of a batch "
          f"{100 * sum(lengths) / padded:.0f} % are tokens; {o.threads} threads", flush=True)


# ---- the Trainer's turn, in a process of its own ------------------------------------------------------------------------

def trainer(folder, dtype, threads, steps):
    import torch
    import transformers
    torch.set_num_threads(threads)
    tokenizer = transformers.BertTokenizerFast(os.path.join(folder, "vocab.txt"), do_lower_case=True)
    model = transformers.RoFormerForSequenceClassification.from_pretrained(folder)
    with open(os.path.join(folder, "train.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f][1:]

    class Pairs(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows)

        def __getitem__(self, i):
            label, a, b = rows[i]
            return dict(tokenizer(a, b, truncation=True, max_length=LONGEST), labels=int(label))

    ends = []

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, *_, **__):
            ends.append(time.perf_counter())

    arguments = transformers.TrainingArguments(
        output_dir=os.path.join(folder, "trainer"), per_device_train_batch_size=BATCH, max_steps=steps + 1, learning_rate=5e-5,
        save_strategy="no", report_to=[], use_cpu=True, bf16=dtype == "bf16", disable_tqdm=True, logging_strategy="no")
    transformers.Trainer(model=model, args=arguments, train_dataset=Pairs(), callbacks=[Clock()],
                         data_collator=transformers.DataCollatorWithPadding(tokenizer)).train()
    print(json.dumps(dict(seconds=(ends[-1] - ends[0]) / (len(ends) - 1), version=f"transformers {transformers.__version__}, torch {torch.__version__}",
                          peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))


def turn_of_trainer(folder, o, dtype):
    command = [sys.executable, os.path.abspath(__file__), dtype, "--turn", folder, "--threads", str(o.threads), "--steps", str(o.steps)]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS=str(o.threads), HF_HUB_OFFLINE="1"))
    lines = [line for line in done.stdout.splitlines() if line.startswith("{\"seconds\"")]
    if done.returncode or not lines:
        sys.exit(f"finetune.py: the Trainer ended with {done.returncode}: {done.stderr[-600:]}")
    return json.loads(lines[-1])


# ---- our turn -------------------------------------------------------------------------------------------------------------

def turn_of_roformer(folder, o, dtype):
    out = os.path.join(folder, "roformer")
    shutil.rmtree(out, ignore_errors=True)
    command = [o.roformer, "finetune", "--task", "cls", "--train", os.path.join(folder, "train.tsv"), "-m", folder, "-o", out, "--max_steps",
               str(o.steps + 1), "--per_device_train_batch_size", str(BATCH), "--max_length", str(LONGEST), "--learning_rate", "5e-5",
               "--save_strategy", "no", "--logging_steps", "1", "--threads", str(o.threads)] + (["--bf16"] if dtype == "bf16" else [])
    ends, words = [], []
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as p:
        for line in p.stderr:
            words.append(line)
            if line.startswith("step ") and "/" in line.split()[1]:
                ends.append(time.perf_counter())
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    shutil.rmtree(out, ignore_errors=True)
    if p.returncode or len(ends) != o.steps + 1:
        sys.exit(f"finetune.py: roformer ended with {p.returncode}: {''.join(words)[-600:]}")
    return dict(seconds=(ends[-1] - ends[0]) / (len(ends) - 1), peak_rss_mb=used.ru_maxrss // 1024)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dtypes", nargs="*", metavar="f32|bf16", default=["f32", "bf16"])
    p.add_argument("--roformer", default=os.path.join(TOP, "build", "release", "roformer"))
    p.add_argument("--data", default=os.environ.get("ROFORMER_DATA", os.path.join(TOP, "..", "shared", "data")))
    p.add_argument("--vocab", default=os.path.join(TOP, "models", "roformer-small-en", "vocab.txt"), help="WordPiece, lower case")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--steps", type=int, default=5, help="of each turn, besides the first, which is not counted")
    p.add_argument("--threads", type=int, default=2)
    for name in ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"):
        p.add_argument("--" + name, type=int, help=argparse.SUPPRESS)       # a smaller model, to try the script
    p.add_argument("--make", help=argparse.SUPPRESS)
    p.add_argument("--turn", help=argparse.SUPPRESS)
    o = p.parse_args()
    if set(o.dtypes) - {"f32", "bf16"}:
        p.error("types are f32 and bf16")
    if o.make:
        return make_model(o.make, o)
    if o.turn:
        return trainer(o.turn, o.dtypes[0], o.threads, o.steps)
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: a child's peak memory begins with its parent's.
        subprocess.run([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--make", folder], check=True, stderr=subprocess.DEVNULL)
        turns = {(who, dtype): [] for dtype in o.dtypes for who in (turn_of_roformer, turn_of_trainer)}
        for r in range(o.rounds):
            for who, dtype in list(turns)[::-1] if r % 2 else list(turns):
                turns[who, dtype].append(who(folder, o, dtype))
            for dtype in o.dtypes:
                ours, theirs = turns[turn_of_roformer, dtype][-1], turns[turn_of_trainer, dtype][-1]
                print(f"round {r + 1}, {dtype:4s}: roformer {ours['seconds']:7.3f} s a step, {ours['peak_rss_mb']:5d} MB   "
                      f"Trainer {theirs['seconds']:7.3f} s a step, {theirs['peak_rss_mb']:5d} MB   {theirs['seconds'] / ours['seconds']:5.2f} x", flush=True)
        epoch = lambda who, dtype: EPOCH * statistics.median(t["seconds"] for t in turns[who, dtype])
        ratio = lambda ours, theirs: statistics.median(b["seconds"] / a["seconds"] for a, b in
                                                       zip(turns[turn_of_roformer, ours], turns[turn_of_trainer, theirs]))
        version = turns[turn_of_trainer, o.dtypes[0]][0]["version"]
        for ours, theirs in [(d, d) for d in o.dtypes] + ([("bf16", "f32")] if len(set(o.dtypes)) == 2 else []):
            print(f"an epoch of {EPOCH} steps: roformer {ours} {epoch(turn_of_roformer, ours):.0f} s, Trainer {theirs} "
                  f"{epoch(turn_of_trainer, theirs):.0f} s ({version}): {ratio(ours, theirs):.2f} x")


if __name__ == "__main__":
    main()
