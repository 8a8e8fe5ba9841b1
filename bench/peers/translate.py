"""translate.py ctranslate2|transformers --model DIR --text FILE --beams 4 [--forced N] [--batch N]: an encoder-decoder translates a file's
lines, once for each line of standard input, and tells the seconds.  Tokens are made before the clock runs, sentences sorted by length as
each program advises, texts not made of tokens again.  For bench/translate.py."""
import argparse
import json
import os
import resource
import sys
import time

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("engine")
p.add_argument("--model")
p.add_argument("--text")
p.add_argument("--beams", type=int, default=4)
p.add_argument("--forced", type=int, default=0)
p.add_argument("--most", type=int, default=256)
p.add_argument("--batch", type=int, default=0)
p.add_argument("--out")
a = p.parse_args()
threads = int(os.environ.get("THREADS", "2"))

import transformers

transformers.logging.set_verbosity_error()
tokenizer = transformers.AutoTokenizer.from_pretrained(a.model)
config = transformers.AutoConfig.from_pretrained(a.model)
try:
    language = transformers.GenerationConfig.from_pretrained(a.model).forced_bos_token_id
except OSError:
    language = getattr(config, "forced_bos_token_id", None)
lines = [line.rstrip("\n") for line in open(a.text, encoding="utf8")]
ids = [tokenizer(line).input_ids for line in lines]
order = np.argsort([-len(x) for x in ids], kind="stable")


def start_as_trained(start):
    """CTranslate2's converter takes the embedding that a Marian's decoder starts from for zeros, that of padding.  One that was trained with
    another start keeps it."""
    from ctranslate2.converters import transformers as t

    class Loader(t.MarianMTLoader):
        def set_config(self, config, model, tokenizer):
            super().set_config(config, model, tokenizer)
            config.decoder_start_token = tokenizer.convert_ids_to_tokens(start)

        def set_decoder(self, spec, decoder):
            t.BartLoader.set_decoder(self, spec, decoder)

        def get_vocabulary(self, model, tokenizer):
            return t.BartLoader.get_vocabulary(self, model, tokenizer)

        def _remove_pad_weights(self, spec):
            pass
    t._MODEL_LOADERS["MarianConfig"] = Loader()


def ctranslate2():
    import ctranslate2 as c
    if config.model_type == "marian" and config.decoder_start_token_id != config.pad_token_id:
        start_as_trained(config.decoder_start_token_id)
    folder = a.model.rstrip("/") + ".ctranslate2"
    if not os.path.exists(folder):
        c.converters.TransformersConverter(a.model).convert(folder, quantization="float32")
    translator = c.Translator(folder, device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads)
    tokens = [tokenizer.convert_ids_to_tokens(x) for x in ids]
    more = dict(min_decoding_length=a.forced, max_decoding_length=a.forced) if a.forced else dict(max_decoding_length=a.most)
    if language is not None:
        more["target_prefix"] = [[tokenizer.convert_ids_to_tokens(language)]] * len(ids)

    def run():
        out = translator.translate_batch(tokens, beam_size=a.beams, max_batch_size=a.batch or 2048, batch_type="examples" if a.batch else "tokens",
                                         max_input_length=0, **more)
        return [tokenizer.convert_tokens_to_ids(x.hypotheses[0]) for x in out]
    return c.__version__, run


def hugging_face():
    import torch
    torch.set_num_threads(threads)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(a.model).eval()
    pad = model.config.pad_token_id
    more = dict(min_new_tokens=a.forced, max_new_tokens=a.forced) if a.forced else dict(max_new_tokens=a.most)
    model.generation_config.forced_eos_token_id = None

    def run():
        out, size = [None] * len(ids), a.batch or 32
        with torch.inference_mode():
            for i in range(0, len(order), size):
                part = order[i:i + size]
                longest = len(ids[part[0]])
                x = torch.tensor([ids[k] + [pad] * (longest - len(ids[k])) for k in part])
                y = model.generate(input_ids=x, attention_mask=(x != pad).long(), num_beams=a.beams, do_sample=False, **more)
                for k, z in zip(part, y.tolist()):
                    out[k] = [t for t in z[1:] if t != pad]
        return out
    return transformers.__version__ + ", torch " + torch.__version__, run


def main():
    version, run = ctranslate2() if a.engine == "ctranslate2" else hugging_face()
    print(json.dumps({"engine": a.engine, "version": version, "threads": threads}), flush=True)
    for _ in sys.stdin:
        before, begun = time.process_time(), time.perf_counter()
        out = run()
        wall, processor = time.perf_counter() - begun, time.process_time() - before
        print(json.dumps({"seconds": wall, "processor": processor, "tokens": sum(len(x) for x in out), "texts": len(out),
                          "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)
        if a.out:
            with open(a.out, "w", encoding="utf8") as f:
                f.writelines(tokenizer.decode(x, skip_special_tokens=True, use_source_tokenizer=False) + "\n" for x in out)


main()
