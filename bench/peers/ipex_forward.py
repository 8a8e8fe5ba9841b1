"""Intel's extension of PyTorch (IPEX) under transformers: f32, or bf16 (autocast) as argument; the traced and frozen model, as its
manual advises.  It wants a PyTorch of its own: $PEERS/ipex, which setup.sh makes when asked."""
import sys
from peer import *
import torch
import intel_extension_for_pytorch as ipex
import transformers

torch.set_num_threads(THREADS)
torch.manual_seed(0)
how = sys.argv[1] if len(sys.argv) > 1 else "f32"
half = how == "bf16"
model = transformers.RoFormerModel(roformer_config(return_dict=False)).eval()
model = ipex.optimize(model, dtype=torch.bfloat16 if half else torch.float32)

def autocast():
    return torch.autocast("cpu", torch.bfloat16, enabled=half)

def inputs(ids, mask):
    return torch.from_numpy(ids), torch.from_numpy(mask)

with torch.no_grad(), autocast():
    traced = torch.jit.trace(model, inputs(*padded([24, 17])), strict=False, check_trace=False)
    traced = torch.jit.freeze(traced)

def run(ids, mask):
    with torch.no_grad(), autocast():
        return traced(*inputs(ids, mask))[0]

serve(f"ipex {how}", f"ipex {ipex.__version__}, torch {torch.__version__}", forward=forward(run))
