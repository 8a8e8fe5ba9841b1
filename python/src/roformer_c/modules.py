"""The modules of a sentence-transformers folder: their settings, and a copy of the folder."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _folder, errors

CONFIG = "config_sentence_transformers.json"
LIMITS = "sentence_bert_config.json"


class Module(NamedTuple):
    """A module: its class, its subfolder, and the keys of its config file."""
    kind: str
    path: str
    config: Dict[str, Any]

    def get_config_dict(self) -> Dict[str, Any]:
        """The keys of the config file."""
        return dict(self.config)


def setting(source: Any, name: str) -> Any:
    """A JSON file of a folder, or of the files in memory; None: there is none."""
    if isinstance(source, Mapping):
        return json.loads(bytes(source[name])) if name in source else None
    path = pathlib.Path(source, name)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def read(source: Any) -> List[Module]:
    """The modules of the folder; without modules.json a Transformer and the mean, as sentence-transformers makes them."""
    rows = setting(source, "modules.json")
    if rows is None:
        return [Module("Transformer", "", {}), Module("Pooling", "", {"pooling_mode_mean_tokens": True})]
    out = []
    for row in rows:
        kind, path = str(row["type"]).split(".")[-1], str(row.get("path") or "")
        name = LIMITS if kind == "Transformer" else "config.json"
        out.append(Module(kind, path, setting(source, os.path.join(path, name)) or {}))
    return out


def cross_prompts(source: Any) -> Tuple[Dict[str, Optional[str]], Optional[str]]:
    """The prompts of a cross-encoder's folder, and the name of the default one."""
    own = (setting(source, CONFIG) if setting(source, "modules.json") is not None else None) or {}
    if own.get("model_type") != "CrossEncoder":
        return {}, None
    return dict(own.get("prompts") or {}), own.get("default_prompt_name")


def save(source: Any, to: _folder.PathLike, prompts: Mapping[str, str], default: Optional[str], similarity: str,
         max_length: int) -> None:
    """Writes the files of the folder, or those in memory, to another folder, with these settings."""
    folder = pathlib.Path(os.fspath(to))
    if not isinstance(source, Mapping) and folder.exists() and os.path.samefile(source, folder):
        raise errors.ArgumentError("path: expected another folder than the model's, got %s" % folder)
    try:
        if isinstance(source, Mapping):
            for name, data in source.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
        else:
            shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        _change(folder / CONFIG, {"prompts": dict(prompts), "default_prompt_name": default,
                                  "similarity_fn_name": similarity})
        first = read(source)[0]
        if first.kind == "Transformer" and first.config.get("max_seq_length") != max_length:
            _change(folder / first.path / LIMITS, {"max_seq_length": max_length})
        if not (folder / "modules.json").exists():
            _plain_modules(folder)
    except OSError as e:
        raise errors.FileError("%s: %s" % (folder, e)) from e


def _change(path: pathlib.Path, values: Dict[str, Any]) -> None:
    """Sets keys of a JSON file."""
    old: Union[None, Dict[str, Any]] = setting(path.parent, path.name)
    path.write_text(json.dumps({**(old or {}), **values}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _plain_modules(folder: pathlib.Path) -> None:
    """The files that say what a folder without modules.json means."""
    kind, width = "sentence_transformers.models.", setting(folder, "config.json")["hidden_size"]
    rows = [{"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"}]
    (folder / "1_Pooling").mkdir(exist_ok=True)
    _change(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width, "pooling_mode_mean_tokens": True})
    text = json.dumps(rows, indent=2) + "\n"
    (folder / "modules.json").write_text(text, encoding="utf-8")
