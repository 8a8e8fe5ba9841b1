"""Hugging Face transformers on PyTorch: RoFormerModel, eager, f32 (or bf16 as argument)."""
import sys
from peer import *
import torch
import transformers

torch.set_num_threads(THREADS)
torch.manual_seed(0)
how = sys.argv[1] if len(sys.argv) > 1 else "f32"
model = transformers.RoFormerModel(roformer_config()).eval()
if how == "bf16":
    model = model.to(torch.bfloat16)

def run(ids, mask):
    with torch.inference_mode():
        return model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state

serve(f"transformers {how}", f"torch {torch.__version__}, transformers {transformers.__version__}", forward=forward(run))
