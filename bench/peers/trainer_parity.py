#!/usr/bin/env python3
"""Compares what `roformer finetune` and transformers' Trainer learn: the loss and the accuracy on SST-2's dev.tsv after
one epoch on the first training sentences, several seeds each.

    build/peers/v/bin/python bench/peers/trainer_parity.py all-MiniLM-L6-v2 [--seeds 5] [--sentences 2000] [--dev 872] [--data ../shared/data]

Both read the same files and take the same AdamW steps (batches of 32, linear decay, no warm-up, clipping at 1, no weight
decay).  The rows separate the causes of a difference:

    as they are     dropout of config.json, each program's own new head and order
    the same head   a head that the Trainer's first seed saved: order and dropout differ
    no dropout      the same head without dropout: the order alone differs
    one batch       the same head without dropout, 32 sentences for 20 epochs at a constant rate: nothing differs

Equal seeds give other numbers in the two programs, so nothing is paired.  Prints mean, standard deviation, and the
difference of the means with its 95 % interval (Welch)."""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BATCH, LONGEST, EPOCHS_OF_ONE = 32, 64, 20
ROWS = ("one batch", "as they are", "no dropout", "the same head")
T975 = (0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)


def reported(seed, run):
    print(seed, run, file=sys.stderr, flush=True)
    return run


# ---- the Trainer's run, in a process of its own -------------------------------------------------------------------------

def trainer(folder, train, dev, seed, epochs, rate, schedule, save):
    """Prints {"loss": .., "accuracy": ..} on `dev`; `save`: only writes the folder with a new head."""
    import torch
    import transformers
    transformers.set_seed(seed)
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    if save:
        model.config.id2label, model.config.label2id = {0: "0", 1: "1"}, {"0": 0, "1": 1}     # those of the files
        model.save_pretrained(save)
        tokenizer.save_pretrained(save)
        return

    def read(path):
        with open(path, encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f][1:]
        return [dict(tokenizer(text, truncation=True, max_length=LONGEST), labels=int(label)) for text, label in rows]

    arguments = transformers.TrainingArguments(
        output_dir=os.path.join(os.path.dirname(train), "trainer"), per_device_train_batch_size=BATCH, num_train_epochs=epochs, learning_rate=rate, lr_scheduler_type=schedule,
        seed=seed, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, logging_strategy="no")
    t = transformers.Trainer(model=model, args=arguments, train_dataset=read(train), eval_dataset=read(dev),
                             data_collator=transformers.DataCollatorWithPadding(tokenizer),
                             compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
    t.train()
    seen = t.evaluate()
    print(json.dumps({"loss": seen["eval_loss"], "accuracy": seen["eval_accuracy"],
                      "version": "transformers %s, torch %s" % (transformers.__version__, torch.__version__)}))


def of_trainer(o, folder, train, dev, seed, epochs, schedule="linear", save=""):
    done = subprocess.run([sys.executable, __file__, str(folder), "--turn", json.dumps([str(train), str(dev), seed, epochs, o.learning_rate, schedule, str(save)])],
                          capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1"))
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"loss"')]
    if done.returncode or not (lines or save):
        sys.exit("trainer_parity.py: the Trainer ended with %d: %s" % (done.returncode, done.stderr[-800:]))
    return reported(seed, json.loads(lines[-1])) if lines else None


# ---- our run ------------------------------------------------------------------------------------------------------------

def of_roformer(o, folder, train, dev, seed, epochs, schedule):
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([o.roformer, "finetune", "-q", "--task", "cls", "--train", train, "--dev", dev, "--labels", "0,1", "-m", folder, "-o",
                               os.path.join(out, "model"), "--num_train_epochs", str(epochs), "--batch_size", str(BATCH), "--learning_rate", str(o.learning_rate),
                               "--max_length", str(LONGEST), "--seed", str(seed), "--threads", "1", "--lr_scheduler_type", schedule, "--save_strategy", "no", "--eval_strategy", "no"],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit("trainer_parity.py: roformer ended with %d: %s" % (done.returncode, done.stderr[-800:]))
        said = json.loads(subprocess.run([o.roformer, "evaluate", "-q", "-m", os.path.join(out, "model"), "--dev", dev, "--json"],
                                         capture_output=True, text=True, check=True).stdout)
    return reported(seed, {"loss": said["eval_loss"], "accuracy": said["eval_accuracy"]})


# ---- files and numbers --------------------------------------------------------------------------------------------------

def write_rows(path, rows):
    path.write_text("text\tlabel\n" + "".join("%s\t%s\n" % (t.strip(), l) for t, l in rows), encoding="utf-8")


def make_data(o, work):
    def rows(name, n):
        with (gzip.open if name.endswith(".gz") else open)(pathlib.Path(o.data) / "glue/SST-2" / name, "rt", encoding="utf-8") as f:
            lines = [line.rstrip("\r\n").rsplit("\t", 1) for line in f][1:]
        return lines[:n]
    train = rows("train.tsv.gz", o.sentences)
    write_rows(work / "train.tsv", train)
    write_rows(work / "batch.tsv", train[:BATCH])
    write_rows(work / "dev.tsv", rows("dev.tsv", o.dev))


def without_dropout(folder, to):
    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text())
    config.update(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0)
    (to / "config.json").write_text(json.dumps(config))


def show(row, name, ours, theirs):
    a, b = [x[name] for x in ours], [x[name] for x in theirs]
    n, spread = len(a), lambda x: statistics.stdev(x) if len(x) > 1 else 0
    u, v = spread(a) ** 2 / n, spread(b) ** 2 / n
    free = (u + v) ** 2 / ((u * u + v * v) / (n - 1)) if u + v > 0 else 1
    half = T975[min(int(free), 10)] * (u + v) ** 0.5
    print("%-15s %-9s roformer %.4f +- %.4f   Trainer %.4f +- %.4f   difference %+.4f +- %.4f" %
          (row, name, statistics.mean(a), spread(a), statistics.mean(b), spread(b), statistics.mean(a) - statistics.mean(b), half), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", help="a folder of a BERT or RoFormer without a classifier")
    p.add_argument("--roformer", default=str(TOP / "build/release/roformer"))
    p.add_argument("--data", default=os.environ.get("ROFORMER_DATA", str(TOP / "../shared/data")))
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--sentences", type=int, default=2000)
    p.add_argument("--learning_rate", type=float, default=5e-5)
    p.add_argument("--dev", type=int, help="the first of dev.tsv (default: all 872)")
    p.add_argument("--jobs", type=int, default=1, help="runs at a time, one thread each")
    p.add_argument("--rows", nargs="*", default=ROWS, choices=ROWS)
    p.add_argument("--turn", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.turn:
        return trainer(o.model, *json.loads(o.turn))
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_data(o, work)
        given, head, calm = pathlib.Path(o.model).resolve(), work / "head", work / "calm"
        of_trainer(o, given, work / "train.tsv", work / "dev.tsv", 1, 1, save=head)
        without_dropout(head, calm)
        seen = {}
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for row in o.rows:
                folder = {"as they are": given, "the same head": head}.get(row, calm)
                train, epochs, schedule, seeds = ("batch.tsv", EPOCHS_OF_ONE, "constant", 1) if row == "one batch" else ("train.tsv", 1, "linear", o.seeds)
                for who in (of_trainer, of_roformer):
                    seen[row, who] = [pool.submit(who, o, folder, work / train, work / "dev.tsv", seed, epochs, schedule) for seed in range(1, seeds + 1)]
            for row in o.rows:
                ours, theirs = ([run.result() for run in seen[row, who]] for who in (of_roformer, of_trainer))
                for name in ("loss", "accuracy"):
                    show(row, name, ours, theirs)
        version = theirs[0]["version"]
        print("%s; %d training sentences, batches of %d, learning rate %g, %d seeds" % (version, o.sentences, BATCH, o.learning_rate, o.seeds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
