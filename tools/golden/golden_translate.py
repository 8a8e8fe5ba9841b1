#!/usr/bin/env python3
"""Makes tests/golden/marian/*/translate.txt, the output of transformers' generate for some sources, and tests/golden/marian/trained: a tiny Marian
translation model that has learned to reverse a text, with the files that tools/golden/golden_marian.py gives the others.

    pip install torch==2.15.0 transformers==5.23.0 safetensors
    python tools/golden/golden_translate.py

tests/golden/README.md describes the format.
"""
import torch
from transformers import MarianConfig, MarianMTModel

import golden
import golden_marian as marian

PAD, EOS, WORDS = marian.PAD, 0, range(3, 15)
# beams, texts, length_penalty, early_stopping, most new tokens, and other arguments of generate
CASES = [
    (1, 1, 1.0, False, 24, {}),
    (4, 1, 1.0, False, 24, {}),
    (4, 4, 0.6, True, 24, {}),
    (4, 2, 1.4, "never", 12, {}),
    (3, 3, -0.5, False, 24, {}),
    (4, 2, 1.0, False, 10, {"forced_bos_token_id": 7, "forced_eos_token_id": EOS}),
    (4, 2, 1.0, False, 24, {"renormalize_logits": True, "no_repeat_ngram_size": 2}),
    (2, 1, 1.0, False, 24, {"repetition_penalty": 1.3}),
    (1, 1, 1.0, False, 8, {"forced_eos_token_id": EOS}),
]


def sources(generator, n, end=EOS):
    lengths = [1, 2, 3, 5, 8, 13, 4, 6][:n]
    words = torch.tensor(list(WORDS))
    return [torch.cat([words[torch.randint(0, len(words), (m,), generator=generator)], torch.tensor([end])]) for m in lengths]


def train(generator, steps=1500):
    """The task is to reverse a text and replace each word by the next one; batches of equal lengths."""
    torch.manual_seed(11)
    model = MarianMTModel(MarianConfig(**dict(marian.SMALL, d_model=32, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=64,
                                              decoder_ffn_dim=64, encoder_attention_heads=2, decoder_attention_heads=4, dropout=0.0)))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 2 and "embed_positions" not in name:
                p.normal_(0, p.shape[1] ** -0.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    words = torch.tensor(list(WORDS))
    end, begin = torch.full((32, 1), EOS), torch.full((32, 1), PAD)
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 200) * (1 - step / steps)
        n = int(torch.randint(1, 11, (1,), generator=generator))
        x = words[torch.randint(0, len(words), (32, n), generator=generator)]
        y = torch.cat([(x.flip(1) - 3 + 1) % len(words) + 3, end], 1)
        z = model(input_ids=torch.cat([x, end], 1), decoder_input_ids=torch.cat([begin, y[:, :-1]], 1)).logits
        loss = torch.nn.functional.cross_entropy(z.flatten(0, 1), y.flatten(), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"trained: loss {loss.item():.3f}")
    return model.eval()


def generate(model, source, case, start=PAD, end=EOS):
    """Texts without padding, best first, with their scores."""
    beams, texts, penalty, early, most, more = case
    model.generation_config.forced_eos_token_id = None              # MarianConfig's default is 0
    with torch.no_grad():
        out = model.generate(input_ids=source[None], attention_mask=torch.ones_like(source)[None], num_beams=beams, num_return_sequences=texts,
                             length_penalty=penalty, early_stopping=early, max_new_tokens=most, do_sample=False, bad_words_ids=[[start]],
                             output_scores=True, return_dict_in_generate=True,
                             **{k: end if k == "forced_eos_token_id" else v for k, v in more.items()})
    found = []
    for i, ids in enumerate(out.sequences.tolist()):
        ids = ids[1:]
        ids = ids[:ids.index(end) + 1] if end in ids else ids
        found.append((ids, float(out.sequences_scores[i]) if beams > 1 else 0.0))
    return found


def attention(model, source, target, start=PAD):
    """What the last layer gives to the source, the mean over its heads, in double."""
    with torch.no_grad():
        out = model.double()(input_ids=source[None], decoder_input_ids=torch.tensor([[start] + target[:-1]]), output_attentions=True)
    model.float()
    return out.cross_attentions[-1][0].mean(0).tolist()


def write(folder, model, generator, start=PAD, end=EOS):
    text = sources(generator, 8, end)
    with open(folder / "translate.txt", "w") as f:
        f.write(golden.made_with() + "\n")
        for case in CASES:
            beams, texts, penalty, early, most, more = case
            f.write(f"case {beams} {texts} {penalty} {({False: 0, True: 1}).get(early, 2)} {most} {more.get('forced_bos_token_id', -1)} "
                    f"{end if 'forced_eos_token_id' in more else -1} {int(more.get('renormalize_logits', False))} "
                    f"{more.get('no_repeat_ngram_size', 0)} {more.get('repetition_penalty', 1)} {len(text)}\n")
            for s in text:
                found = generate(model, s, case, start, end)
                twice = generate(model.double(), s, case, start, end)
                model.float()
                assert [a for a, _ in found] == [a for a, _ in twice], (folder, case, s)       # no near ties
                f.write(marian.numbers("source", s))
                for ids, score in twice:
                    f.write(f"text {score:.9g} " + marian.numbers("ids", ids))
        for s in text[2:6]:
            target = generate(model, s, CASES[0], start, end)[0][0]
            f.write("attention " + marian.numbers("source", s) + marian.numbers("target", target))
            for row in attention(model, s, target, start):
                f.write(" ".join(f"{x:.6f}" for x in row) + "\n")
        f.write("end\n")


def main():
    golden.quiet()
    folder = marian.ROOT / "trained"
    generator = torch.Generator().manual_seed(21)
    model = train(generator)
    golden.save(model, folder, safe_serialization=True)
    marian.write(folder, model, generator)
    for seed, name in enumerate([*marian.MODELS, "trained"], 31):
        model = MarianMTModel.from_pretrained(marian.ROOT / name, attn_implementation="eager").eval()
        write(marian.ROOT / name, model, torch.Generator().manual_seed(seed))
        print(name)
    for file in folder.iterdir():
        file.chmod(0o644)


if __name__ == "__main__":
    main()
