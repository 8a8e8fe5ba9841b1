"""Training steps of transformers' Marian on PyTorch, as Seq2SeqTrainer does them: forward, smoothed loss, backward, clipping,
AdamW.  Transformer-base with a vocabulary of 8,000 and random ids of the lengths of pairs.txt.

    torch_translation.py [f32|bf16] [random|grouped]

random    batches as they come, each side padded to its longest
grouped   transformers' group_by_length: of 50 batches the pairs are sorted by the source's length; sides are padded as above

A batch has so many pairs that it has about 4,096 tokens that exist, on average over all of them.  What is answered is the time of
4,096 such tokens."""
import random
import sys
import time
from peer import *
import torch
import transformers
from transformers.trainer_pt_utils import LabelSmoother

torch.set_num_threads(THREADS)
torch.manual_seed(0)
how, order = (sys.argv[1:] + ["f32", "random"][len(sys.argv) - 1:])[:2]
WIDTH, LAYERS, INNER, VOCABULARY, TOKENS = 512, 6, 2048, 8000, 4096
config = transformers.MarianConfig(vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=8,
                                   decoder_attention_heads=8, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER, max_position_embeddings=256, dropout=0.1,
                                   activation_function="relu", pad_token_id=0, eos_token_id=3, decoder_start_token_id=0, scale_embedding=True)
model = transformers.MarianMTModel(config).train()
adamw = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), weight_decay=0, fused=True)
smooth = LabelSmoother(epsilon=0.1)

with open(os.path.join(HERE, "pairs.txt")) as f:
    pairs = [tuple(1 + int(x) for x in pair.split(":")) for pair in f.read().split()]                   # with their ends
size = round(TOKENS * len(pairs) / sum(map(sum, pairs)))


def batches():
    r = random.Random(0)
    while True:
        all = pairs[:]
        r.shuffle(all)
        if order == "grouped":
            large = [sorted(all[i:i + 50 * size], reverse=True) for i in range(0, len(all), 50 * size)]
            all = [p for m in large for p in m]
        cut = [all[i:i + size] for i in range(0, len(all) - size + 1, size)]
        r.shuffle(cut)
        yield from cut


def ids(lengths, fill):
    x = torch.randint(5, VOCABULARY, (len(lengths), max(lengths)))
    gone = torch.arange(max(lengths))[None] >= torch.tensor(lengths)[:, None]
    return x.masked_fill(gone, fill), (~gone).long()


def madds(m, n):
    C, F = WIDTH, INNER
    encoder = m * (4 * C * C + 2 * C * F) + 2 * m * m * C
    decoder = n * (6 * C * C + 2 * C * F) + m * 2 * C * C + n * (n + 1) * C + 2 * m * n * C
    return LAYERS * (encoder + decoder) + n * C * VOCABULARY


stream = batches()


def step(batch):
    source, mask = ids([m for m, _ in batch], 0)
    labels, _ = ids([n for _, n in batch], -100)
    inputs = dict(input_ids=source, attention_mask=mask, decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels))
    with torch.autocast("cpu", torch.bfloat16, enabled=how == "bf16"):
        loss = smooth(model(**inputs), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adamw.step()
    adamw.zero_grad(set_to_none=True)


def translation(case):
    step(next(stream))
    rates, flops, end = [], [], time.perf_counter() + case.get("seconds", 20)
    while len(rates) < 3 or time.perf_counter() < end:
        batch = next(stream)
        start = time.perf_counter()
        step(batch)
        seconds = time.perf_counter() - start
        rates.append(seconds / sum(map(sum, batch)))
        flops.append(6 * sum(madds(*p) for p in batch) / seconds)
    return dict(bench=case["bench"], shape=case.get("shape", ""), ms=1e3 * TOKENS * statistics.median(rates), best_ms=1e3 * TOKENS * min(rates),
                tokens_per_second=1 / statistics.median(rates), gflops=statistics.median(flops) / 1e9)


serve(f"transformers {how} {order}", f"torch {torch.__version__}, transformers {transformers.__version__}", translation=translation)
