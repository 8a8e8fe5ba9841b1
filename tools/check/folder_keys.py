#!/usr/bin/env python3
"""folder_keys.py [-v] - keys that transformers and sentence-transformers read and this program does not know.

For each file next to a model's weights: the keys that the installed classes take (fields, parameters, what their sources
ask a configuration for), held against the rows of src/base/files/folder_keys.def and the names in the sources that read the
file.  Prints "FILE KEY" for each one that is in neither, and fails if there is any; -v prints the counts of all.

Last run: transformers 5.24, sentence-transformers 6.2.
"""
import importlib
import inspect
import pathlib
import re
import sys

from transformers import GenerationConfig
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = {"bert": "Bert", "roformer": "RoFormer", "marian": "Marian", "roberta": "Roberta", "xlm_roberta": "XLMRoberta",
            "mpnet": "MPNet", "nomic_bert": "NomicBert", "gte": "Gte", "modernbert": "ModernBert", "esm": "Esm", "qwen3": "Qwen3",
            "qwen2": "Qwen2", "llama": "Llama", "distilbert": "DistilBert", "electra": "Electra", "camembert": "Camembert",
            "albert": "Albert", "mistral": "Mistral", "gpt2": "GPT2", "gpt_neox": "GPTNeoX", "deberta_v2": "DebertaV2",
            "deberta": "Deberta", "bart": "Bart", "mbart": "MBart", "m2m_100": "M2M100", "pegasus": "Pegasus", "t5": "T5",
            "mt5": "MT5", "umt5": "UMT5", "xlnet": "XLNet"}

# Not keys of files: what callers and loaders pass, and methods of a configuration.
CALLERS = {
    "generation": {"from_dict", "get_generation_mode", "json", "update", "to_dict", "validate"},
    "tokenizer_config": {"self", "kwargs", "args", "vocab", "merges", "vocab_file", "tokenizer_file", "tokenizer_object",
                         "files_loaded", "source_spm", "target_spm", "spm_file", "target_vocab_file", "verbose", "gguf_file", "from_slow",
                         "tokenizer", "tokenizer_padding", "tokenizer_truncation", "commit_message", "repo_id"},
    "sentence": {"message", "text", "model_name_or_path"},
    "prompts": {"pytorch", "sentence_transformers", "transformers"},                # of __version__
}


def source(module):
    return inspect.getsource(importlib.import_module(module))


def parameters(function):
    return {name for name, p in inspect.signature(inspect.unwrap(function)).parameters.items()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)} - {"self"}


def config_keys():
    found = set()
    for low, name in FAMILIES.items():
        module = f"transformers.models.{low}"
        configuration = getattr(importlib.import_module(f"{module}.configuration_{low}"), f"{name}Config")
        found |= set(configuration().to_dict()) | set(configuration.attribute_map)
        found |= set(re.findall(r"\bconfig\.([a-z]\w*)", source(f"{module}.modeling_{low}")))
    return found


def generation_keys():
    found = set(GenerationConfig().to_dict())
    for module in ("utils", "logits_process", "stopping_criteria"):
        found |= set(re.findall(r"\bgeneration_config\.([a-z]\w*)", source(f"transformers.generation.{module}")))
    return found


def tokenizer_keys():
    found = set(re.findall(r'(?<!_)kwargs\.(?:pop|get)\(\s*"([a-z]\w*)"', inspect.getsource(PreTrainedTokenizerBase.__init__)))
    found |= set(re.findall(r'init_kwargs(?:\.pop\(|\.get\(|\[)"(\w+)"', source("transformers.tokenization_utils_base")))
    found |= set(re.findall(r'(?<!_)kwargs\.(?:pop|get)\(\s*"([a-z]\w*)"', source("transformers.tokenization_utils_tokenizers")))
    found |= set(PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES)
    for low, name in FAMILIES.items():
        try:
            module = importlib.import_module(f"transformers.models.{low}.tokenization_{low}")
        except ImportError:
            continue                                                    # the family has another one's
        found |= parameters(getattr(module, f"{name}Tokenizer").__init__)
    return found


def sentence_keys():
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
    from sentence_transformers.sparse_encoder.modules import SpladePooling
    module = "sentence_transformers.base.modules.transformer"
    prompts = source("sentence_transformers.base.model") + source("sentence_transformers.sentence_transformer.model")
    return {
        "sentence": parameters(Transformer.__init__) | set(Transformer.config_keys) |
        set(re.findall(r'config(?:\.pop\(|\.get\(|\[)"(\w+)"', source(module))),
        "pooling": set(Pooling.config_keys) | set(Pooling.config_key_renames) |
        set(re.findall(r'"(pooling_mode_\w+)"', source("sentence_transformers.sentence_transformer.modules.pooling"))),
        "normalize": parameters(Normalize.__init__),
        "dense": set(Dense.config_keys),
        "layer_norm": set(LayerNorm.config_keys),
        "splade": set(SpladePooling.config_keys) | set(SpladePooling.config_key_renames),
        "prompts": set(re.findall(r'model_config(?:\.pop\(|\.get\(|\[)"(\w+)"', prompts)) |
        {key for body in re.findall(r"def _get_model_config.*?\n    def ", prompts, re.S) for key in re.findall(r'"(\w+)":', body)},
    }


def rows():
    """The names of folder_keys.def by their file."""
    letters = {"C": "config", "G": "generation", "H": "generation", "T": "tokenizer_config", "S": "sentence", "P": "pooling", "N": "normalize", "D": "dense",
               "L": "layer_norm", "A": "splade", "M": "prompts"}
    known = {name: set() for name in letters.values()}
    for letter, name in re.findall(r'^([A-Z])\("(\w+)"', (ROOT / "src/base/files/folder_keys.def").read_text(), re.M):
        known[letters[letter]].add(name)
    return known


def names(*folders):
    """Strings in the sources, and what KEY(name, ...), OUR(name, ...) and USUAL(name, ...) name."""
    files = [f for name in folders for f in ([ROOT / "src" / name] if "." in name else (ROOT / "src" / name).rglob("*.[ch]"))]
    text = "".join(f.read_text() for f in files)
    return set(re.findall(r'"([a-z]\w*)"', text)) | set(re.findall(r"(?:KEY|OUR|OWN|USUAL)\((\w+)", text))


def main():
    known = rows()
    known["config"] |= names("store", "model/families", "model/layers/seq2seq.h", "model/layers/t5_layer.h", "model/layers/t5_layer.c") | known["generation"]
    known["tokenizer_config"] |= names("text")
    read = {"config": config_keys(), "generation": generation_keys(), "tokenizer_config": tokenizer_keys(), **sentence_keys()}
    missing = 0
    for file, keys in read.items():
        keys = {k for k in keys if not k.startswith("_")} - CALLERS.get(file, set())
        if "-v" in sys.argv:
            print(f"{file}: {len(keys)} keys")
        for key in sorted(keys - known[file]):
            print(file, key)
            missing += 1
    return missing > 0


if __name__ == "__main__":
    sys.exit(main())
