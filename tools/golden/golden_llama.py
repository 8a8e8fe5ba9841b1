#!/usr/bin/env python3
"""Makes tests/golden/qwen3 and the folders of its relatives: tiny models with random weights and every head, saved by transformers, and what
transformers computes with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and
golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_llama.py [FAMILY...]        # writes tests/golden/FAMILY again; all of them without names
    python tools/golden/golden_llama.py --check FOLDER...  # transformers loads folders that roformer wrote"""
import json
import sys

import transformers

import golden
from golden_bert import NAMES, check

# Four heads of queries share two heads of keys; 4 x 16 columns of queries, and 24 of the model.
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
             intermediate_size=40, max_position_embeddings=64, pad_token_id=1, bos_token_id=2, eos_token_id=3)
LABELS = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification")

LLAMA3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
# Layers 1 and 3 see all tokens, 0 and 2 near ones.
GEMMA = dict(SMALL, num_hidden_layers=4, query_pre_attn_scalar=24, sliding_window=8, sliding_window_pattern=2)

# family: (classes begin with, what all its configurations have, {folder: (class ends with, configuration, lengths of a head's texts)})
FAMILIES = {
    "qwen3": ("Qwen3", SMALL, {
        "causal": ("ForCausalLM", dict(tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1e6)), None),
        "untied": ("ForCausalLM", dict(num_key_value_heads=4, head_dim=6, rms_norm_eps=1e-5), None),
        "one_key": ("ForCausalLM", dict(num_key_value_heads=1, tie_word_embeddings=True, pad_token_id=None), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
        "token": ("ForTokenClassification", dict(num_labels=5), [6, 1, 9]),
        "near": ("ForCausalLM", dict(use_sliding_window=True, sliding_window=7, max_window_layers=0), None),
    }),
    "qwen2": ("Qwen2", {k: v for k, v in SMALL.items() if k != "head_dim"}, {
        "causal": ("ForCausalLM", dict(tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1e6)), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
        "token": ("ForTokenClassification", dict(num_labels=5), [6, 1, 9]),
        "near": ("ForCausalLM", dict(use_sliding_window=True, sliding_window=5, max_window_layers=0), None),
    }),
    "llama": ("Llama", SMALL, {
        "causal": ("ForCausalLM", dict(head_dim=None, num_key_value_heads=None), None),
        "llama3": ("ForCausalLM", dict(tie_word_embeddings=True, rope_parameters=LLAMA3), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
        "token": ("ForTokenClassification", dict(num_labels=5), [6, 1, 9]),
        "biases": ("ForCausalLM", dict(attention_bias=True, mlp_bias=True), None),
    }),
    "mistral": ("Mistral", SMALL, {
        "causal": ("ForCausalLM", dict(sliding_window=7, rope_parameters=dict(rope_type="linear", rope_theta=1e6, factor=2.0)), None),
        "whole_texts": ("ForCausalLM", dict(sliding_window=None, head_dim=None), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0, sliding_window=3), [7, 2, 12]),
        "token": ("ForTokenClassification", dict(num_labels=5, sliding_window=4096), [6, 1, 9]),
    }),
    "eurobert": ("EuroBert", SMALL, {
        "masked": ("ForMaskedLM", dict(rope_parameters=dict(rope_type="default", rope_theta=250000.0)), None),
        "tied": ("ForMaskedLM", dict(tie_word_embeddings=True, head_dim=None, num_key_value_heads=None), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
        "mean": ("ForSequenceClassification", dict(LABELS, pad_token_id=0, classifier_pooling="mean"), [7, 2, 12]),
        "bos": ("ForSequenceClassification", dict(LABELS, pad_token_id=0, classifier_pooling="bos"), [7, 2, 12]),
        "token": ("ForTokenClassification", dict(num_labels=5), [6, 1, 9]),
    }),
    "gemma3": ("Gemma3", GEMMA, {
        "causal": ("ForCausalLM", {}, None),
        "untied": ("ForCausalLM", dict(tie_word_embeddings=False, sliding_window_pattern=6), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
    }),
    "embedding_gemma": ("Gemma3", dict(GEMMA, use_bidirectional_attention=True), {
        "model": ("Model", {}, None),
        "odd": ("Model", dict(sliding_window=7, num_key_value_heads=1), None),
        "sequence": ("ForSequenceClassification", dict(LABELS, pad_token_id=0), [7, 2, 12]),
    }),
}


def config_of(family, own):
    begin, common, _ = FAMILIES[family]
    kind = {"Gemma3": "Gemma3TextConfig"}.get(begin, begin + "Config")
    return getattr(transformers, kind)(**{**common, **own})


def class_of(family, end):
    begin = FAMILIES[family][0]
    name = begin + end if begin != "Gemma3" or end == "ForCausalLM" else begin + "Text" + end
    return getattr(transformers, name)


def write_hidden(folder, model, lengths, generator, seed):
    """golden.txt of a model without a head: hidden states alone, of each text by itself."""
    import torch
    c, worst = model.config, 0.0
    with open(folder / "golden.txt", "w") as out:
        print(golden.made_with(f"seed {seed}", "float32 on the CPU"), file=out)
        for n in lengths:
            ids = torch.randint(0, c.vocab_size, (1, n), generator=generator)
            with torch.no_grad():
                h, exact = model(ids).last_hidden_state[0], model.double()(ids).last_hidden_state[0]
                model.float()
            worst = max(worst, float((h - exact).abs().max()))
            assert worst < 3e-5, (folder, worst)               # its own rounding leaves room in a tolerance of 1e-4
            rows, columns = golden.some(n, 16), golden.some(c.hidden_size, 64)
            print(f"case length-{n} 1 {n}", file=out)
            for title, table in (("ids", ids[0].tolist()), ("mask", [1] * n), ("types", [0] * n)):
                print(title, *table, file=out)
            print("columns", len(columns), *columns, file=out)
            print("entries 0", file=out)
            print("rows", len(rows), file=out)
            for t in rows:
                print(0, t, golden.numbers(h[t, columns].tolist()), file=out)
        print("end", file=out)
    return worst


def ending_with_padding(lengths, *rest):
    """golden.padded, whose first text ends with the id of padding, as if the tokenizer had put it there."""
    ids, mask, types = PADDED(lengths, *rest)
    ids[0, lengths[0] - 1] = 0
    return ids, mask, types


PADDED = golden.padded


def causal_loss(model):
    """golden.write_case asks for the loss of models that say is_decoder."""
    model.config.is_decoder = True


def whole_weights(model, generator, shift):
    golden.randomize(model, generator, sharp=lambda name: "q_proj" in name or "k_proj" in name)
    import torch
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_tokens" in name:
                p.copy_(0.4 * torch.randn(p.shape, generator=generator))
            elif shift and "norm" in name:
                p.sub_(1)                                      # scaled by 1 + w
    model.tie_weights()
    return model


TEXTS = ["Call me Ishmael.", "never mind how long precisely, it's 1851", "道可道，非常道。"]
INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages\nQuery:"
END = "<|endoftext|>"


def qwen_tokenizer():
    """As Qwen3-Embedding's: byte-level BPE, and a token behind each text."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    from golden_byte_level import LINES, MODERN
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(MODERN % ""), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(LINES * 3, trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_special_tokens([AddedToken(x, normalized=False) for x in (END, "<|im_start|>", "<|im_end|>")])
    template = processors.TemplateProcessing(single="$A " + END, pair=f"$A $B:1 {END}:1", special_tokens=[(END, t.token_to_id(END))])
    t.post_processor = processors.Sequence([processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False), template])
    return t


def sentences(folder, model, tokenizer, settings, modules, **how):
    """A folder of sentence-transformers, read again for what it answers: vectors with each prompt, and without any."""
    import tempfile

    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    with tempfile.TemporaryDirectory() as parts:
        model.save_pretrained(parts)
        tokenizer.save(parts + "/tokenizer.json")
        golden.write_config(parts + "/tokenizer_config.json", settings)
        SentenceTransformer(modules=[Transformer(parts), *modules], device="cpu", **how).save_pretrained(str(folder), create_model_card=False)
    for name in ("README.md", "generation_config.json"):
        (folder / name).unlink(missing_ok=True)
    st = SentenceTransformer(str(folder), device="cpu")
    rows = [{"prompt": name, "text": t, "vector": st.encode(t, prompt_name=name).tolist()} for name in [None, *st.prompts] for t in TEXTS]
    golden.write_lines(folder / "vectors.jsonl", [json.dumps(r, ensure_ascii=False) for r in rows])


def qwen_whole(root):
    """As Qwen3-Embedding, and what the causal model itself makes of the texts."""
    import torch
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import Pooling
    t = qwen_tokenizer()
    generator = golden.seeded(90)
    end = t.token_to_id(END)
    config = config_of("qwen3", dict(vocab_size=t.get_vocab_size() + 17, max_position_embeddings=256, pad_token_id=end, bos_token_id=end, eos_token_id=end, tie_word_embeddings=True))
    model = whole_weights(class_of("qwen3", "ForCausalLM")(config).eval(), generator, False)
    settings = dict(tokenizer_class="Qwen2Tokenizer", add_bos_token=False, add_prefix_space=False, bos_token=None, eos_token=END, pad_token=END,
                    unk_token=None, errors="replace", clean_up_tokenization_spaces=False, model_max_length=131072, split_special_tokens=False)
    sentences(root / "whole", model, t, settings, [Pooling(24, pooling_mode="lasttoken"), Normalize()],
              prompts={"query": INSTRUCT, "document": ""})
    rows = []
    for text in TEXTS:
        ids = t.encode(text, add_special_tokens=False).ids              # the first one follows nothing: not counted
        with torch.no_grad():
            p = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        rows.append({"text": text, "ids": ids[1:], "logprobs": [float(p[i, x]) for i, x in enumerate(ids[1:])]})
    golden.write_lines(root / "whole" / "scores.jsonl", [json.dumps(r, ensure_ascii=False) for r in rows])


class Read:
    """A tokenizer.json as it is."""
    def __init__(self, path):
        self.path = path

    def save(self, path):
        import shutil
        shutil.copy(self.path, path)


def gemma_whole(root):
    """As EmbeddingGemma: means of all tokens, two matrices behind them, and prompts.  The test copies tokenizer.json from tests/golden/fast."""
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Pooling
    from tokenizers import Tokenizer
    from torch import nn
    file = golden.GOLDEN / "fast" / "gemma.tokenizer.json"
    t = Tokenizer.from_file(str(file))
    generator = golden.seeded(91)
    config = config_of("embedding_gemma", dict(vocab_size=t.get_vocab_size() + 3, max_position_embeddings=256))
    model = whole_weights(class_of("embedding_gemma", "Model")(config).eval(), generator, True)
    settings = dict(tokenizer_class="GemmaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>", mask_token="<unk>",
                    clean_up_tokenization_spaces=False, padding_side="right", model_max_length=2048)
    modules = [Pooling(24, pooling_mode="mean"), Dense(24, 40, bias=False, activation_function=nn.Identity()),
               Dense(40, 20, bias=True, activation_function=nn.Tanh()), Normalize()]
    sentences(root / "whole", model, Read(file), settings, modules,
              prompts={"query": "task: search result | query: ", "document": "title: none | text: "})
    read = Tokenizer.from_file(str(root / "whole" / "tokenizer.json"))
    assert all(read.encode(x).ids == t.encode(x).ids for x in TEXTS)
    (root / "whole" / "tokenizer.json").unlink()


def eurobert_whole(root):
    """As EuroBERT: Llama 3's byte-level BPE with a mask, and what the masked-word model makes of texts."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    from golden_byte_level import LINES, MODERN
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(MODERN % "{1,3}"), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(LINES * 3, trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    begin, end, pad, mask = "<|begin_of_text|>", "<|end_of_text|>", "<|pad|>", "<|mask|>"
    t.add_special_tokens([AddedToken(x, normalized=False) for x in (begin, end, pad)] + [AddedToken(mask, normalized=False, lstrip=True)])
    template = processors.TemplateProcessing(single=f"{begin} $A {end}", pair=f"{begin} $A {end} $B:1 {end}:1",
                                             special_tokens=[(x, t.token_to_id(x)) for x in (begin, end)])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    config = config_of("eurobert", dict(vocab_size=t.get_vocab_size(), max_position_embeddings=256, pad_token_id=t.token_to_id(pad),
                                        bos_token_id=t.token_to_id(begin), eos_token_id=t.token_to_id(end)))
    model = whole_weights(class_of("eurobert", "ForMaskedLM")(config).eval(), golden.seeded(92), False)
    golden.save(model, root / "whole")
    t.save(str(root / "whole" / "tokenizer.json"))
    golden.write_config(root / "whole" / "tokenizer_config.json", dict(
        tokenizer_class="PreTrainedTokenizerFast", bos_token=begin, eos_token=end, pad_token=pad, mask_token=mask,
        clean_up_tokenization_spaces=True, model_input_names=["input_ids", "attention_mask"], model_max_length=8192))
    golden.write_masked(root / "whole", lambda **x: model(**x, output_hidden_states=True), [*TEXTS, f"it's 1851 {mask} more"])


def mistral_whole(root):
    """A window that texts exceed; byte-level words as Mistral NeMo's."""
    t = qwen_tokenizer()
    end = t.token_to_id(END)
    config = config_of("mistral", dict(vocab_size=t.get_vocab_size(), max_position_embeddings=256, sliding_window=6, bos_token_id=None, eos_token_id=end))
    model = whole_weights(class_of("mistral", "ForCausalLM")(config).eval(), golden.seeded(93), False)
    golden.save(model, root / "whole")
    t.post_processor = None
    t.save(str(root / "whole" / "tokenizer.json"))
    golden.write_config(root / "whole" / "tokenizer_config.json", dict(tokenizer_class="PreTrainedTokenizerFast", eos_token=END))
    golden.write_causal(root / "whole", model, [*TEXTS, "the window is shorter than this text by more than one half"])
    golden.finish(root / "whole", 0)


WHOLE = {"mistral": mistral_whole, "qwen3": qwen_whole, "embedding_gemma": gemma_whole, "eurobert": eurobert_whole}


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    for family in sys.argv[1:] or FAMILIES:
        root = golden.fresh(golden.GOLDEN / family)
        for seed, (name, (end, own, lengths)) in enumerate(FAMILIES[family][2].items(), 1):
            folder = root / name
            generator = golden.seeded(seed)
            model = whole_weights(class_of(family, end)(config_of(family, own)).eval(), generator, FAMILIES[family][0] == "Gemma3")
            golden.save(model, folder)
            golden.padded = ending_with_padding if end == "ForSequenceClassification" else PADDED
            if lengths:
                worst = golden.write_head(folder, model, lengths, generator, seed)
            elif end == "Model":
                worst = write_hidden(folder, model, (1, 3, 12, 40), generator, seed)
            else:
                if end == "ForCausalLM":
                    causal_loss(model)
                worst = golden.write_cases(folder, model, (1, 3, 40), (5, 1, 12), generator, seed)
            golden.finish(folder, worst)
        if family in WHOLE:
            WHOLE[family](root)


if __name__ == "__main__":
    main()
