#!/usr/bin/env python3
"""random_configs.py PROGRAM [--seed N] [--folders N] [--only FAMILY,...] [-v] - folders with random config.json, compared with transformers.

For each family of the table below: a config with random values for the keys that transformers' class reads, in one of the spellings
that files have (older names, keys that are missing because they have their defaults), random weights, and a byte-level tokenizer.
The program's mean vectors (embed), log-probabilities (score), labels (classify) and greedy texts (generate) are compared with those
of transformers' class; a folder may be refused if the message names the key.  Prints the counts, and each reason once.  Exits with 1
if an answer differs, or if the program fails otherwise.

Last run: transformers 5.24.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import sys
import tempfile

import published_folders as published

WIDE, LIMIT = 1e-5, 1e-5
ACTS = ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh", "gelu_python", "quick_gelu", "mish", "laplace"]


class Draw:
    """Random values; `often` is the usual one."""

    def __init__(self, r):
        self.r = r

    def one(self, *values):
        return self.r.choice(values)

    def mostly(self, often, *others, share=0.3):
        return self.r.choice(others) if self.r.random() < share else often

    def act(self, often):
        return self.mostly(often, *ACTS, share=0.5)

    def heads(self, config, keys=True):
        """Width, heads, and for grouped queries heads of keys and their width."""
        heads = self.one(2, 4)
        width = heads * self.one(8, 12, 16)
        grouped = dict(num_key_value_heads=self.one(None, 1, 2, heads), head_dim=self.one(None, 6, 16)) if keys else {}
        return dict(hidden_size=width, num_attention_heads=heads, num_hidden_layers=self.one(1, 2, 3), intermediate_size=self.one(24, 40), **grouped)

    def rope(self, width, partial=None):
        kind = self.mostly("default", "linear", "dynamic", "yarn", "llama3", "longrope", share=0.6)
        p = dict(rope_type=kind, rope_theta=self.one(500.0, 10000.0, 1e6))
        if partial is not None:
            p["partial_rotary_factor"] = partial
        rotated = int(width * (partial or 1))
        if kind != "default":
            p["factor"] = self.one(1.0, 2.0, 4.0)
        if kind in ("yarn", "llama3", "longrope"):
            p["original_max_position_embeddings"] = self.one(16, 64, 128)
        if kind == "llama3":
            p.update(low_freq_factor=1.0, high_freq_factor=self.one(2.0, 4.0))
        if kind == "yarn" and self.r.random() < 0.5:
            p.update(self.one(dict(beta_fast=16.0, beta_slow=2.0), dict(attention_factor=1.3), dict(mscale=1.2, mscale_all_dim=0.7), dict(truncate=False)))
        if kind == "longrope":
            p.update({k: [self.r.uniform(1, 3) for _ in range(rotated // 2)] for k in ("short_factor", "long_factor")})
        return p

    def labels(self):
        n = self.one(1, 2, 3)
        problem = self.one(None, "regression" if n == 1 else "single_label_classification", "multi_label_classification")
        return dict(num_labels=n, problem_type=problem)


def llama_like(d, **more):
    c = d.heads({})
    width = c["head_dim"] or c["hidden_size"] // c["num_attention_heads"]
    return dict(c, hidden_act=d.act("silu"), rms_norm_eps=d.one(1e-6, 1e-5, 1e-2), tie_word_embeddings=d.one(True, False), rope_parameters=d.rope(width),
                max_position_embeddings=d.one(256, 512), attention_dropout=d.one(0.0, 0.1), **more)


def llama(d):
    return llama_like(d, attention_bias=d.one(True, False), mlp_bias=d.one(True, False), pretraining_tp=d.one(1, 2))


def mistral(d):
    return llama_like(d, sliding_window=d.one(None, 2, 5, 17, 4096))


def qwen2(d):
    return llama_like(d, use_sliding_window=d.mostly(False, True, share=0.1), sliding_window=d.one(4, 4096), max_window_layers=d.one(1, 28))


def qwen3(d):
    return dict(llama_like(d, attention_bias=d.one(True, False)), head_dim=d.one(6, 16))


def gpt2(d):
    c = d.heads({}, False)
    return dict(n_embd=c["hidden_size"], n_head=c["num_attention_heads"], n_layer=c["num_hidden_layers"], n_inner=d.one(None, 40),
                n_positions=d.one(256, 512), activation_function=d.act("gelu_new"), layer_norm_epsilon=d.one(1e-5, 1e-3),
                scale_attn_weights=d.mostly(True, False), scale_attn_by_inverse_layer_idx=d.mostly(False, True),
                reorder_and_upcast_attn=d.mostly(False, True), tie_word_embeddings=d.mostly(True, False), resid_pdrop=d.one(0.0, 0.1),
                embd_pdrop=d.one(0.0, 0.2), attn_pdrop=d.one(0.0, 0.1), summary_type=d.one("cls_index", "last"), summary_use_proj=d.one(True, False),
                summary_activation=d.one(None, "tanh"))


def gpt_neox(d):
    c = d.heads({}, False)
    width = c["hidden_size"] // c["num_attention_heads"]
    partial = d.one(0.25, 0.5, 1.0, 0.3)
    return dict(c, hidden_act=d.act("gelu"), layer_norm_eps=d.one(1e-5, 1e-3), use_parallel_residual=d.mostly(True, False, share=0.4),
                attention_bias=d.mostly(True, False, share=0.4), tie_word_embeddings=d.mostly(False, True), max_position_embeddings=d.one(256, 512),
                rope_parameters=d.rope(width, partial), hidden_dropout=d.one(0.0, 0.1), attention_dropout=d.one(0.0, 0.1),
                classifier_dropout=d.one(0.0, 0.1), is_decoder=d.one(True, False))


# family: (configuration class, beginning of classes, its causal class, configuration)
FAMILIES = {
    "llama": ("LlamaConfig", "Llama", "ForCausalLM", llama), "mistral": ("MistralConfig", "Mistral", "ForCausalLM", mistral),
    "qwen2": ("Qwen2Config", "Qwen2", "ForCausalLM", qwen2), "qwen3": ("Qwen3Config", "Qwen3", "ForCausalLM", qwen3),
    "gpt2": ("GPT2Config", "GPT2", "LMHeadModel", gpt2), "gpt_neox": ("GPTNeoXConfig", "GPTNeoX", "ForCausalLM", gpt_neox),
}


def respelled(d, family, config, defaults):
    """config.json as other versions of transformers write it."""
    rope = config.get("rope_parameters")
    if family == "gpt_neox" and d.r.random() < 0.6:
        rope = config.pop("rope_parameters")
        config.update(rotary_emb_base=rope.pop("rope_theta"), rotary_pct=rope.pop("partial_rotary_factor"))
        if d.r.random() < 0.5:                                         # as transformers 4.47
            config.update(rope_theta=config["rotary_emb_base"], partial_rotary_factor=config["rotary_pct"])
        if rope["rope_type"] != "default":
            config["rope_scaling"] = rope
        elif d.r.random() < 0.5:
            config["rope_scaling"] = None
    elif rope and family != "gpt_neox" and d.r.random() < 0.5:
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = config.pop("rope_parameters") if rope["rope_type"] != "default" else None
        config.pop("rope_parameters", None)
    if family == "gpt2" and d.r.random() < 0.5:
        for old, new in (("n_embd", "hidden_size"), ("n_head", "num_attention_heads"), ("n_layer", "num_hidden_layers"), ("n_positions", "max_position_embeddings")):
            if d.r.random() < 0.5:
                config[new] = config.pop(old)
    for key in list(config):
        if key in defaults and config[key] == defaults[key] and d.r.random() < 0.5:
            del config[key]
    return config


def make(d, family, folder, words, torch, transformers):
    kind, begin, causal, draw = FAMILIES[family]
    head = d.one(causal, causal, "ForSequenceClassification")
    config = dict(draw(d), vocab_size=words.get_vocab_size() + d.one(0, 5), bos_token_id=0, eos_token_id=0, pad_token_id=d.one(None, 1),
                  initializer_range=d.one(0.02, 0.2), **(d.labels() if head != causal else {}))
    model = getattr(transformers, begin + head)(getattr(transformers, kind)(**config)).float().eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p.add_(torch.randn_like(p) * 0.1)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    words.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="<|endoftext|>")))
    path = folder / "config.json"
    saved = respelled(d, family, json.loads(path.read_text()), getattr(transformers, kind)().to_dict())
    path.write_text(json.dumps(saved, indent=1))
    return getattr(transformers, begin + head).from_pretrained(folder, dtype=torch.float32).eval(), saved


def byte_level_words():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator(published.TEXTS * 3, trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                                   special_tokens=["<|endoftext|>", "<pad>"], show_progress=False))
    return t


def vectors(program, folder, model, words, torch):
    mine, why = program.vectors(folder, published.PLAIN, "--pooling", "mean", "--max-length", "0")
    if not mine:
        return None, why
    off = 0
    for text, vector in zip(published.PLAIN, mine):
        with torch.no_grad():
            right = model.base_model(torch.tensor([words.encode(text).ids])).last_hidden_state[0].mean(0)
        off = max(off, float((torch.tensor(vector) - right).abs().max() / max(1, right.abs().max())))
    return off, None


def scores(program, folder, model, words, torch):
    off = 0
    for text in published.PLAIN[:2]:
        code, out, err = program.run("score", "-q", "-m", folder, "--json", "--", text)
        if code:
            return None, published.message(err, folder)
        ids, mine = words.encode(text).ids, [p for p in json.loads(out)["logprobs"] if p is not None]
        with torch.no_grad():
            p = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        right = [float(p[i, x]) for i, x in enumerate(ids[1:])]
        off = max(off, max(abs(x - y) / max(1, abs(y)) for x, y in zip(mine, right)) if len(mine) == len(right) else float("inf"))
    return off, None


def texts(program, folder, model, words, torch):
    """Greedy texts of eight tokens; no step may be decided by rounding.  The program never chooses padding, nor ids without a token."""
    never = [1, *range(words.get_vocab_size(), model.config.vocab_size)]
    for text in published.PLAIN[:2]:
        ids = torch.tensor([words.encode(text).ids])
        made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8, pad_token_id=0, suppress_tokens=never,
                              output_scores=True, return_dict_in_generate=True)
        if any(float(-torch.diff(s[0].topk(2).values)) < 1e-4 for s in made.scores):
            continue
        code, out, err = program.run("generate", "-q", "-m", folder, "--json", "-n", "8", "--", text)
        if code:
            return None, published.message(err, folder)
        right = [i for i in made.sequences[0, ids.shape[1]:].tolist() if i]
        if [i for i in json.loads(out)["ids"] if i] != right:
            return float("inf"), None
    return 0, None


def compare(program, folder, model, words, torch):
    """{what: difference} or a message."""
    off = {}
    for what in (vectors, scores, texts, published.labels):
        causal = not type(model).__name__.endswith("SequenceClassification")
        if what is not vectors and (what is published.labels) == causal:
            continue
        tokenizer = (lambda text, pair=None, return_tensors=None: {"input_ids": torch.tensor([words.encode(text).ids])}) if what is published.labels else words
        off[what.__name__], why = what(program, folder, model, tokenizer, torch)
        if why:
            return off, why
    return off, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folders", type=int, default=60)
    parser.add_argument("--only", default=",".join(FAMILIES))
    parser.add_argument("-v", action="store_true")
    a = parser.parse_args()
    import torch
    import transformers
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    program, words, wrong = published.Program(a.program), byte_level_words(), 0
    for family in a.only.split(","):
        counts, reasons, worst = collections.Counter(), {}, 0.0
        for number in range(a.folders):
            d = Draw(random.Random(f"{family} {a.seed} {number}"))
            torch.manual_seed(number)
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name) / "model"
                folder.mkdir()
                try:
                    model, saved = make(d, family, folder, words, torch, transformers)
                except Exception as e:                         # whatever it raises is its answer
                    counts["no answer of transformers"] += 1
                    if a.v:
                        print(family, number, type(e).__name__, str(e)[:160])
                    continue
                off, why = compare(program, folder, model, words, torch)
                most = max([x for x in off.values() if x is not None], default=0)
                refused = why and re.match(r"(states: )?config\.json: \w+", why)
                verdict = "refused" if refused else "failed" if why else "equal" if most <= LIMIT else "DIFFERS"
                counts[verdict] += 1
                if refused:
                    reasons.setdefault(re.sub(r"\d+(\.\d+)?", "N", why), (number, why))
                elif verdict != "equal":
                    wrong += 1
                    print(family, number, verdict, off, why or "", json.dumps(saved))
                else:
                    worst = max(worst, most)
        print(f"{family}: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())) + f"; largest difference {worst:.1e}")
        for number, why in reasons.values():
            print(f"    {number}: {why}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
