#!/usr/bin/env python3
"""events.py — what the real TensorBoard reads from our event files.

  events.py RUN       RUN/events.out.tfevents.roformer against RUN/metrics.jsonl: every number, at its step
  events.py --golden  writes tests/golden/train/events.tfevents with TensorBoard's own writer

Needs the package tensorboard.
"""
import json
import pathlib
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

# the lines that tests/train/test_events.c writes, at these seconds
LINES = [(1700000000.25, {"step": 50, "loss": 7.25, "learning_rate": 0.0005}),
         (1700000001.5, {"step": 123456789012, "eval_loss": 6.125, "eval_accuracy": 0.1, "eval_labels": 300})]


def tag(key):
    return "eval/" + key[5:] if key.startswith("eval_") else "train/" + key


def golden():
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "train" / "events.tfevents"
    with open(path, "wb") as f:
        w = RecordWriter(f)
        w.write(event_pb2.Event(wall_time=1700000000.0, file_version="brain.Event:2").SerializeToString(deterministic=True))
        for now, line in LINES:
            values = [summary_pb2.Summary.Value(tag=tag(k), simple_value=v) for k, v in line.items() if k != "step"]
            w.write(event_pb2.Event(wall_time=now, step=line["step"], summary=summary_pb2.Summary(value=values)).SerializeToString(deterministic=True))
        w.flush()


def check(run):
    run = pathlib.Path(run)
    want = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        line = json.loads(line)
        for key, value in line.items():
            if key != "step" and isinstance(value, (int, float)) and not isinstance(value, bool):
                want.setdefault(tag(key), []).append((line["step"], struct.unpack("f", struct.pack("f", value))[0]))
    events = EventAccumulator(str(run), size_guidance={"scalars": 0}).Reload()
    got = {t: [(e.step, e.value) for e in events.Scalars(t)] for t in events.Tags()["scalars"]}
    # metrics.jsonl keeps 9 digits, the events come from the number itself: the two may round to neighbors
    for t in sorted(set(want) | set(got)):
        a, b = want.get(t, []), got.get(t, [])
        if [x[0] for x in a] != [x[0] for x in b] or any(abs(x[1] - y[1]) > 2e-7 * abs(x[1]) for x, y in zip(a, b)):
            sys.exit(f"{t}: metrics.jsonl {a[:3]}... ({len(a)}), TensorBoard {b[:3]}... ({len(b)})")
    print(f"{len(got)} scalars, {sum(map(len, got.values()))} points: TensorBoard reads what metrics.jsonl says")


golden() if sys.argv[1:] == ["--golden"] else check(sys.argv[1])
