"""Hugging Face transformers on PyTorch: RoFormerModel, or the model of PEER_FAMILY.  Arguments: f32, bf16 or int8, and "compile" for torch.compile with its
weights frozen (needs a C++ compiler; it compiles once for all shapes that change).

bf16  the model's weights in bf16; compiled: autocast, as Intel advises
int8  torchao: weights in int8, activations quantized for each token; compiled"""
import sys
from peer import *
import torch
import transformers

torch.set_num_threads(THREADS)
torch.manual_seed(0)
how = sys.argv[1] if len(sys.argv) > 1 else "f32"
compiled = "compile" in sys.argv
model = encoder()
if how == "bf16" and not compiled:
    model = model.to(torch.bfloat16)
if how == "int8":
    import torchao
    torchao.quantize_(model, torchao.quantization.Int8DynamicActivationInt8WeightConfig())
if compiled:
    import torch._inductor.config
    torch._inductor.config.freezing = True
call = torch.compile(model) if compiled else model

def run(ids, mask):
    with torch.inference_mode(not compiled), torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=compiled and how == "bf16"):
        return call(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state

serve(f"transformers {how}{' compiled' if compiled else ''}", f"torch {torch.__version__}, transformers {transformers.__version__}", compiled,
      forward=forward(run))
