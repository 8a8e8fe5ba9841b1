"""transformers' generate on PyTorch, greedy: RoFormerForCausalLM on all prompts at once, padded on the left; eager, f32
(or bf16 as argument).  A case names a model folder, a file of prompts (a line of ids each) and the new tokens; the
answer has the seconds, and with "margins" the new tokens and how far, at each, the best of that model's logits is ahead
of the second."""
import sys
from peer import *
import torch
import transformers

torch.set_num_threads(THREADS)
how = sys.argv[1] if len(sys.argv) > 1 else "f32"
opened = {}


def model_of(folder):
    if folder not in opened:
        opened.clear()
        kind = torch.bfloat16 if how == "bf16" else torch.float32
        opened[folder] = transformers.RoFormerForCausalLM.from_pretrained(folder, dtype=kind).eval()
    return opened[folder]


def margins(model, prompt, made):
    """The least that rounding may decide: a text is read as a whole, without padding or cache."""
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + made])).logits[0, len(prompt) - 1 : -1].float()
    best = logits.topk(2).values
    return (best[:, 0] - best[:, 1]).tolist()


def generate(case):
    model = model_of(case["model"])
    with open(case["ids"]) as f:
        prompts = [[int(x) for x in line.split()] for line in f]
    longest, new = max(map(len, prompts)), case["new"]
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    options = dict(attention_mask=mask, do_sample=False, eos_token_id=None, pad_token_id=0, use_cache=True)
    with torch.inference_mode():
        if case.get("first"):
            model.generate(ids, max_new_tokens=2, **options)
        clock = time.process_time if case.get("busy") else time.perf_counter
        start = clock()
        made = model.generate(ids, max_new_tokens=new, min_new_tokens=new, **options)[:, longest:].tolist()
        seconds = clock() - start
    answer = dict(seconds=seconds, prompt_tokens=sum(map(len, prompts)), tokens=sum(map(len, made)))
    if case.get("margins"):
        answer.update(made=made, margins=[margins(model, p, m) for p, m in zip(prompts, made)])
    return answer


serve(f"transformers {how}", f"torch {torch.__version__}, transformers {transformers.__version__}", generate=generate)
