"""What the peers share: the shape of the model, how a batch is made, how time is taken, how a peer talks.

A peer is a program that says once which engine it is, then reads one case a line and answers each with one line, both
JSON.  bench/compare.py keeps several of them waiting and lets them take turns with roformer; by hand:

    echo '{"bench": "forward", "shape": "8x128"}' | python torch_forward.py
"""
import json
import os
import resource
import statistics
import sys
import time

THREADS = int(os.environ.get("THREADS", "2"))
os.environ["OMP_NUM_THREADS"] = str(THREADS)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false" if THREADS == 1 else "true")
HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.environ.get("PEERS", os.path.join(HERE, "..", "..", "build", "peers"))

import numpy as np

LAYERS, WIDTH, HEADS, INNER, VOCABULARY = 12, 768, 12, 3072, 50000

def roformer_config(**changes):
    from transformers import RoFormerConfig
    return RoFormerConfig(**{**dict(vocab_size=VOCABULARY, embedding_size=WIDTH, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                    num_attention_heads=HEADS, intermediate_size=INNER, max_position_embeddings=1536), **changes})

FAMILY = os.environ.get("PEER_FAMILY")          # a row of bench/families.json: 6 layers of another model in RoFormer's place

def family_config():
    with open(os.path.join(HERE, "..", "families.json")) as f:
        return dict(json.load(f)[FAMILY], num_hidden_layers=6, vocab_size=30528)

def encoder():
    """RoFormer-base, or 6 layers of another family, with random weights."""
    import transformers
    if not FAMILY:
        return transformers.RoFormerModel(roformer_config()).eval()
    config = family_config()
    return transformers.AutoModel.from_config(transformers.AutoConfig.for_model(config.pop("model_type"), **config)).eval()

def onnx_path(suffix=".onnx"):
    return os.path.join(PEERS, (FAMILY or "roformer") + suffix)

def lengths_of(case):
    """The batches of a case, each a list of text lengths: [[128] * 8] for shape "8x128"."""
    if "batches" in case:
        return case["batches"]
    texts, tokens = map(int, case["shape"].split("x"))
    return [[tokens] * texts]

def operations(batch):
    """Multiply-adds counted as two; padding is nobody's work.  Of another family than RoFormer: 0, not counted."""
    if FAMILY:
        return 0
    return sum(LAYERS * (2 * T * (4 * WIDTH ** 2 + 2 * WIDTH * INNER) + 4 * T * T * WIDTH) for T in batch)

def padded(batch, vocabulary=20000):
    """Random ids [B, longest] and the mask of the tokens that exist."""
    r = np.random.RandomState(1)
    ids = r.randint(200, vocabulary, (len(batch), max(batch))).astype(np.int64)
    return ids, (np.arange(max(batch))[None] < np.array(batch)[:, None]).astype(np.int64)

def timed(run, seconds):
    """Seconds of one run: median and best, after one run that is not counted.  With BUSY in the environment they are the processor's."""
    clock = time.process_time if os.environ.get("BUSY") else time.perf_counter
    run()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = clock()
        run()
        times.append(clock() - start)
    return statistics.median(times), min(times)

def row(case, seconds, best, flops=0, tokens=0, bytes=0):
    """The keys of `roformer bench --json`."""
    out = dict(bench=case["bench"], shape=case.get("shape", ""), ms=1e3 * seconds, best_ms=1e3 * best)
    if tokens: out["tokens_per_second"] = tokens / seconds
    if flops: out["gflops"] = flops / seconds / 1e9
    if bytes: out["gbytes_per_second"] = bytes / seconds / 1e9
    return out

def forward(run):
    """Answers forward cases by run(ids, mask)."""
    def answer(case):
        batches = lengths_of(case)
        inputs = [padded(b) for b in batches]
        median, best = timed(lambda: [run(*i) for i in inputs], case.get("seconds", 3))
        return row(case, median, best, sum(map(operations, batches)), sum(map(sum, batches)))
    return answer

def has(*flags):
    """Whether this processor has all of them, by Linux's names."""
    with open("/proc/cpuinfo") as f:
        here = next((line.split() for line in f if line.startswith(("flags", "Features"))), [])
    return set(flags) <= set(here)

def pin():
    """The calling thread stays on the first of this process's processors; returns those for the other threads.  Where processors are
    fewer than threads, nothing is pinned."""
    first, *others = sorted(os.sched_getaffinity(0))
    if len(others) < THREADS - 1:
        return []
    os.sched_setaffinity(0, {first})
    return others[:THREADS - 1]

def serve(engine, version, compiles=False, **answers):
    """answers: one function for each value of "bench".  compiles: the first case of a shape takes long."""
    print(json.dumps(dict(engine=engine, version=version, threads=THREADS, compiles=compiles)), flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        try:
            answer = answers[case["bench"]](case)
        except Exception as e:
            answer = dict(error=f"{type(e).__name__}: {e}"[:300])
        answer.update(engine=engine, peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        print(json.dumps(answer), flush=True)
