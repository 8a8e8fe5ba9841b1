"""esm_cpp_forward.py PROGRAM - forward passes of ESM-2 of 150M parameters (random weights, 30 layers) by roformer and by esm-cpp (PyPI), in
turns: f32 and int8, texts of 64 to 512 residues.  esm-cpp computes the logits of all tokens too, which are 0.3 % of the products.  Needs torch
and transformers for the folder, esm-cpp.

    THREADS=2 python bench/peers/esm_cpp_forward.py build/release/roformer > results/machines/NAME/esm-cpp.txt
    ESM_FORCE_ISA=avx2 THREADS=2 python bench/peers/esm_cpp_forward.py build/release/roformer --isa avx2     # both without AVX-512, one text
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from peer import THREADS, np

LOWER = sys.argv[2:]
SHAPES, ROUNDS, SECONDS = ((1, 64),) if LOWER else ((1, 64), (8, 128), (4, 512)), 3, 2


def make(folder):
    """As the hub has it: transformers 5 writes names that esm-cpp does not know."""
    import torch
    from safetensors.torch import save_file
    from transformers import EsmConfig, EsmForMaskedLM
    torch.manual_seed(1)
    config = EsmConfig(vocab_size=33, hidden_size=640, num_hidden_layers=30, num_attention_heads=20, intermediate_size=2560, pad_token_id=1,
                       mask_token_id=32, max_position_embeddings=1026, layer_norm_eps=1e-5, position_embedding_type="rotary", token_dropout=True,
                       hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = EsmForMaskedLM(config)
    model.save_pretrained(folder)
    names = {k.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): v.contiguous().clone()
             for k, v in model.state_dict().items() if "inv_freq" not in k}
    frequencies = 10000.0 ** (-torch.arange(0, 32, 2).float() / 32)
    names |= {f"esm.encoder.layer.{n}.attention.self.rotary_embeddings.inv_freq": frequencies.clone() for n in range(30)}
    save_file(names, folder / "model.safetensors", metadata={"format": "pt"})


def ours(program, config, dtype, shape):
    out = subprocess.run([program, "bench", "-q", "forward", "--config", str(config), "--dtype", dtype, "--seconds", str(SECONDS), "--threads",
                          str(THREADS), "--shape", f"{shape[0]}x{shape[1]}", "--json", *LOWER], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["rows"][0]["ms"]


def theirs(model, shape):
    ids = [np.random.RandomState(i).randint(4, 24, shape[1]).astype(np.int32) for i in range(shape[0])]
    model.forward_batch(ids)
    times, end = [], time.perf_counter() + SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        model.forward_batch(ids)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    import esm_cpp
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "esm2"
        make(folder)
        models = {}
        for dtype in ("f32", "int8"):
            models[dtype] = esm_cpp.Model.load_from_safetensors(str(folder / "model.safetensors"))
        ids = np.asarray(esm_cpp.Tokenizer().encode("MKTVRQERLKSIVRILERSKEPVSGAQLAEELSVSRQVIVQDIAYLRSLGYNIVATPRGYVLAGG"), dtype=np.int32)
        observer = esm_cpp.ActivationObserver()
        models["int8"].forward_with_observer(ids, np.ones_like(ids), observer)
        models["int8"].apply_smoothquant(observer.percentile(99.9), 0.5)
        models["int8"].quantize_weights()
        cpu = next(l.split(": ")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name"))
        version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
        print(f"# {version}; esm-cpp {esm_cpp.__version__} ({esm_cpp.current_isa()}){' '.join([';', *LOWER]) if LOWER else ''}; {cpu}; {THREADS} threads; medians of {ROUNDS} rounds, ms")
        for shape in SHAPES:
            got = {}
            for _ in range(ROUNDS):
                for dtype in ("f32", "bf16", "int8"):
                    got.setdefault(("roformer", dtype), []).append(ours(program, folder / "config.json", dtype, shape))
                    if dtype in models:
                        got.setdefault(("esm-cpp", dtype), []).append(theirs(models[dtype], shape))
            best = {who: min(statistics.median(v) for (w, _), v in got.items() if w == who) for who in ("roformer", "esm-cpp")}
            for (who, dtype), v in sorted(got.items()):
                print(f"{shape[0]}x{shape[1]:<6} {who:10} {dtype:5} {statistics.median(v):10.1f}")
            f32 = statistics.median(got["esm-cpp", "f32"]) / statistics.median(got["roformer", "f32"])
            print(f"{shape[0]}x{shape[1]:<6} esm-cpp / roformer: f32 {f32:.2f}, best precision of each {best['esm-cpp'] / best['roformer']:.2f}", flush=True)


if __name__ == "__main__":
    main()
