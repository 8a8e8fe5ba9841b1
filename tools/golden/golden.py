"""golden.py — what the scripts of this folder share: paths, the first line of a golden file, folders, lines and JSON in the form
that the tests read, random weights, and the two kinds of cases of complete models.

Only the standard library is imported at the top; torch and transformers are imported by the functions that need them."""
import datetime
import importlib.metadata
import inspect
import json
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = TOP / "tests" / "golden"


# ---- where files come from -----------------------------------------------------------------------------------------------

def version(package):
    return importlib.metadata.version(package).split("+")[0]


def made_with(*more, packages=("transformers", "torch")):
    """The first line of a file of numbers: packages with their versions, the date, and more."""
    return "# " + ", ".join([*(f"{p} {version(p)}" for p in packages), str(datetime.date.today()), *more])


def written_by(script):
    """The first line of a file of texts."""
    return "# written by tools/golden/%s: transformers %s, tokenizers %s, Python %s" % (
        script, version("transformers"), version("tokenizers"), sys.version.split()[0])


# ---- files ---------------------------------------------------------------------------------------------------------------

def fresh(folder):
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_lines(path, lines):
    pathlib.Path(path).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def write_json(path, value, **more):
    """In one line, without spaces."""
    write_lines(path, [json.dumps(value, separators=(",", ":"), **more)])


def write_config(path, config):
    """config.json and its like, as transformers writes them."""
    write_lines(path, [json.dumps(config, indent=2, sort_keys=True)])


def size(folder):
    return sum(f.stat().st_size for f in folder.iterdir())


def finish(folder, worst):
    """Makes the files readable for everybody; prints the difference between float32 and float64."""
    for file in folder.iterdir():
        file.chmod(0o644)
    print(f"{folder.name:24} {size(folder):8} bytes, float32 against float64 {worst:.1e}")


def numbers(values, form="{:.9g}"):
    return " ".join(form.format(v) for v in values)


def tokenized(program, folder, lines, *options):
    """The output of roformer tokenize for lines: one object for each."""
    text = "".join(line + "\n" for line in lines).encode()
    out = subprocess.run([program, "tokenize", "-m", folder, "--json", *options], input=text, stdout=subprocess.PIPE, check=True)
    rows = [json.loads(row) for row in out.stdout.decode().split("\n")[:-1]]
    assert len(rows) == len(lines), (len(rows), len(lines))
    return rows


# ---- models --------------------------------------------------------------------------------------------------------------

def quiet():
    """One thread, so that sums have a fixed order; no progress bars and no warnings."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


def seeded(seed):
    """A generator with this seed; torch's own generator gets the same seed."""
    import torch

    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def randomize(model, generator, gain=1.0, attention=1.5, sharp=lambda name: False):
    """Weights that make a difference: attention is neither flat nor one-hot, biases and norms are not zero and one."""
    import torch

    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name:
                continue
            noise = torch.randn(p.shape, generator=generator)
            if p.ndim == 1 and name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "embeddings" in name and "project" not in name:
                p.copy_(0.4 * noise)
            else:
                p.copy_((attention if "query" in name or "key" in name or sharp(name) else gain) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def save(model, folder, **how):
    """Without the settings of generation that transformers adds."""
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, **how)
    (folder / "generation_config.json").unlink(missing_ok=True)


def write_masked(folder, model, texts):
    """vectors.jsonl: ids of texts as transformers reads them, and means of the last hidden states; fill_mask.jsonl: of each text with a
    mask the five likeliest tokens."""
    import torch
    from transformers import AutoTokenizer
    words = AutoTokenizer.from_pretrained(str(folder))
    rows, answers = [], []
    for text in texts:
        x = words(text, return_tensors="pt")
        if "token_type_ids" not in inspect.signature(model.forward).parameters:
            x.pop("token_type_ids", None)
        with torch.no_grad():
            out = model(**x)
        ids = x["input_ids"][0].tolist()
        rows.append(dict(text=text, ids=ids, vector=out.hidden_states[-1][0].mean(0).tolist()))
        if words.mask_token_id not in ids:
            continue
        best = out.logits[0, ids.index(words.mask_token_id)].softmax(-1).topk(5)
        answers.append([dict(score=p, token=i, token_str=words.decode([i])) for p, i in zip(best.values.tolist(), best.indices.tolist())])
    write_lines(folder / "vectors.jsonl", [json.dumps(row, ensure_ascii=False) for row in rows])
    write_lines(folder / "fill_mask.jsonl", [json.dumps(row, ensure_ascii=False) for row in answers])


def write_whole(folder, kind, config, model_file, settings, texts):
    """A folder with a SentencePiece model of tests/golden/subwords as its tokenizer; the test copies the model, (name there, name here)."""
    from transformers import AutoTokenizer
    generator, source = seeded(99), GOLDEN / "subwords" / model_file[0]
    folder.mkdir()
    shutil.copy(source, folder / model_file[1])
    write_json(folder / "tokenizer_config.json", settings)
    write_config(folder / "config.json", {"model_type": config.model_type})
    config.vocab_size = len(AutoTokenizer.from_pretrained(str(folder)))
    model = randomize(kind(config).eval(), generator)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model.config.output_hidden_states = True
    write_masked(folder, model, texts)
    (folder / model_file[1]).unlink()
def write_causal(folder, model, texts, beams=(1, 3), new=12):
    """vectors.jsonl: ids of texts as transformers reads them, and means of the last hidden states; scores.jsonl: log-probabilities of all
    tokens but the first; generated.jsonl: what follows the texts, by greedy search and by beams, without the token that ends it."""
    import torch
    from transformers import AutoTokenizer
    words = AutoTokenizer.from_pretrained(str(folder))
    rows, scores, answers = [], [], []
    for text in texts:
        ids = words(text)["input_ids"]
        x = torch.tensor([ids])
        with torch.no_grad():
            out = model(x, output_hidden_states=True)
        p = out.logits[0].log_softmax(-1)
        rows.append(dict(text=text, ids=ids, vector=out.hidden_states[-1][0].mean(0).tolist()))
        scores.append(dict(text=text, ids=ids[1:], logprobs=[float(p[i, t]) for i, t in enumerate(ids[1:])]))
        for n in beams:
            made = []
            for kind in (torch.float64, torch.float32):                # rounding may decide nothing
                made.append(model.to(kind).generate(x, attention_mask=torch.ones_like(x), do_sample=False, num_beams=n, max_new_tokens=new,
                                                    pad_token_id=model.config.eos_token_id)[0, len(ids):].tolist())
            assert made[0] == made[1], (folder, text, made)
            while made[0] and made[0][-1] == model.config.eos_token_id:
                made[0].pop()
            answers.append(dict(text=text, beams=n, ids=made[0]))
    for name, lines in (("vectors", rows), ("scores", scores), ("generated", answers)):
        write_lines(folder / f"{name}.jsonl", [json.dumps(row, ensure_ascii=False) for row in lines])


def save_tensors(model, folder):
    """The tensors of a model of printed equations, which has them under the names of its files."""
    from safetensors.torch import save_file

    save_file({k: v.detach().contiguous() for k, v in model.tensors.items()}, folder / "model.safetensors", metadata={"format": "pt"})


def padded(lengths, vocab_size, types, generator):
    """Random ids, a mask and token types [B, L]; ids and types are 0 where the mask is."""
    import torch

    B, L = len(lengths), max(lengths)
    ids = torch.randint(0, vocab_size, (B, L), generator=generator)
    types = torch.randint(0, types, (B, L), generator=generator)
    mask = torch.tensor([[int(t < n) for t in range(L)] for n in lengths])
    return ids * mask, mask, types * mask


def type_count(config):
    """Number of token types: 1 if the model has none."""
    return max(1, getattr(config, "type_vocab_size", 1))


def typed(config, types):
    """The argument of token types, for models that take it."""
    return dict(token_type_ids=types) if hasattr(config, "type_vocab_size") else {}


def some(n, k):
    """At most k places of n, the ends included."""
    return list(range(n)) if n <= k else sorted({round(i * (n - 1) / (k - 1)) for i in range(k)})


def write_case(out, name, model, lengths, generator, full, exact=True):
    """A batch of a model with a masked-LM or causal head: hidden states and logits of some rows and columns."""
    import torch

    c = model.config
    ids, mask, types = padded(lengths, c.vocab_size, type_count(c), generator)
    call = dict(input_ids=ids, attention_mask=mask, output_hidden_states=True, **typed(c, types))
    if getattr(c, "is_decoder", False):
        call["labels"] = ids.masked_fill(mask == 0, -100)          # the class shifts them
    with torch.no_grad():
        answer = model(**call)
        double = model.double()(**call) if exact else answer
        if exact:
            model.float()
    worst = max(float((answer.logits - double.logits)[mask == 1].abs().max()),
                float((answer.hidden_states[-1] - double.hidden_states[-1])[mask == 1].abs().max()))
    assert worst < 3e-5, (name, worst)               # its own rounding leaves room in a tolerance of 1e-4
    columns, entries = some(c.hidden_size, 64 if full else 8), some(c.vocab_size, 128 if full else 8)
    rows = [(b, t) for b, n in enumerate(lengths) for t in some(n, 16 if full else 8)]
    print(f"case {name} {len(lengths)} {max(lengths)}", file=out)
    for title, table in (("ids", ids), ("mask", mask), ("types", types)):
        print(title, " ".join(str(int(v)) for v in table.flatten()), file=out)
    print("columns", len(columns), *columns, file=out)
    print("entries", len(entries), *entries, file=out)
    print("rows", len(rows), file=out)
    for b, t in rows:
        print(b, t, numbers(answer.hidden_states[-1][b, t, columns].tolist()),
              numbers(answer.logits[b, t, entries].tolist()), file=out)
    if getattr(c, "is_decoder", False):
        print("loss", sum(n - 1 for n in lengths), numbers([float(answer.loss) if max(lengths) > 1 else 0]), file=out)
    return worst


def write_cases(folder, model, singles, batch, generator, seed, full=True):
    """golden.txt of a model: single texts, the short ones with all rows and columns, and a padded batch."""
    with open(folder / "golden.txt", "w") as out:
        print(made_with(f"seed {seed}", "float32 on the CPU"), file=out)
        worst = [write_case(out, f"length-{n}", model, [n], generator, n <= 3) for n in singles]
        worst.append(write_case(out, "padded", model, list(batch), generator, full))
        print("end", file=out)
    return max(worst)


def head_answer(model, ids, mask, types):
    """Logits [rows, K] in the order in which a batch without padding has them."""
    import torch

    kind = type(model).__name__
    if kind.endswith("MultipleChoice"):
        two = lambda x: x.reshape(-1, 2, x.shape[1])                     # two candidates for each question
        return model(input_ids=two(ids), attention_mask=two(mask), **typed(model.config, two(types))).logits.reshape(-1, 1)
    out = model(input_ids=ids, attention_mask=mask, **typed(model.config, types))
    if kind.endswith(("QuestionAnswering", "QuestionAnsweringSimple")):
        return torch.stack([out.start_logits, out.end_logits], -1)[mask == 1]
    if kind == "ElectraForPreTraining":
        return out.logits[mask == 1][:, None]
    if kind.endswith(("TokenClassification", "ReplacedTokenDetection")):
        return out.logits[mask == 1]
    return out.logits


def write_head(folder, model, lengths, generator, seed):
    """golden.txt of a model with another head: all logits of a padded batch."""
    import torch

    ids, mask, types = padded(lengths, model.config.vocab_size, type_count(model.config), generator)
    with torch.no_grad():
        got = head_answer(model, ids, mask, types)
        exact = head_answer(model.double(), ids, mask, types)
    worst = float((got - exact).abs().max())
    assert worst < 3e-5, (folder, worst)             # its own rounding leaves room in a tolerance of 1e-4
    write_lines(folder / "golden.txt", [
        made_with(f"seed {seed}", "float32 on the CPU"), " ".join(map(str, ["lengths", len(lengths), *lengths])),
        " ".join(map(str, ["ids", *ids[mask == 1].tolist()])), " ".join(map(str, ["types", *types[mask == 1].tolist()])),
        " ".join(["logits", *map(str, got.shape), numbers(got.flatten().tolist())])])
    return worst


def write_answers(folder, model, lengths, generator, seed, singles=(1, 3, 40)):
    """golden.txt of a small model: another head's if there are lengths, else that of masked words. The folder is complete then."""
    finish(folder, write_head(folder, model, lengths, generator, seed) if lengths else
           write_cases(folder, model, singles, (5, 1, 12), generator, seed))


def write_models(root, config, models, heads, singles=(1, 3, 40), saved=lambda name, folder, model: None):
    """An empty folder root, and in it a folder with random weights and answers for each row of models, (class, keys), and of
    heads, (class, keys, lengths). saved is called before the answers and may change the files or the model."""
    fresh(root)
    rows = [(n, *row, None) for n, row in models.items()] + [(n, *row) for n, row in heads.items()]
    for seed, (name, kind, keys, lengths) in enumerate(rows, 1):
        folder = root / name
        generator = seeded(seed)
        model = randomize(kind(config(**keys)).eval(), generator)
        save(model, folder)
        saved(name, folder, model)
        write_answers(folder, model, lengths, generator, seed, singles)
