"""One masked-LM training step of transformers on PyTorch, as its Trainer does it: forward, loss on 15 % of the tokens,
backward, clipping, AdamW.  RoFormer-base with a vocabulary of 30,522; arguments: f32 or bf16 (autocast), and "compile" for
forward and backward by torch.compile, once for each shape (needs a C++ compiler)."""
import sys
from peer import *
import torch
import transformers

torch.set_num_threads(THREADS)
torch.manual_seed(0)
how = sys.argv[1] if len(sys.argv) > 1 else "f32"
config = roformer_config(vocab_size=30522)
model = transformers.RoFormerForMaskedLM(config).train()
call = torch.compile(model, dynamic=False) if "compile" in sys.argv else model
adamw = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)

def train(case):
    (batch,) = lengths_of(case)
    ids = torch.from_numpy(padded(batch)[0])
    labels = torch.where(torch.rand(ids.shape) < 0.15, ids, -100)
    labels[0, 0] = ids[0, 0]
    count = int((labels >= 0).sum())

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=how == "bf16"):
            loss = call(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        adamw.zero_grad(set_to_none=True)

    median, best = timed(step, case.get("seconds", 10))
    head = 6 * count * WIDTH * (WIDTH + config.vocab_size)
    return row(case, median, best, 3 * operations(batch) + head, sum(batch))

serve(f"transformers {how}{' compiled' if call is not model else ''}", f"torch {torch.__version__}, transformers {transformers.__version__}",
      call is not model, train=train)
