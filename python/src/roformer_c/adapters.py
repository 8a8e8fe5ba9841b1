"""Adapters for LangChain, LlamaIndex, scikit-learn and MTEB. A library is imported where it looks at the class, if it is
installed."""
from __future__ import annotations

import asyncio
import functools
import importlib
import os
from typing import Any, Dict, Iterable, List, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from . import errors
from .sentence import SentenceTransformer


def _model(model: Any) -> SentenceTransformer:
    return model if isinstance(model, SentenceTransformer) else SentenceTransformer(model)


def _base(module: str, name: str) -> Any:
    """The class that a library asks for, or object without the library."""
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return object


_Embeddings: Any = _base("langchain_core.embeddings", "Embeddings")
_TransformerMixin: Any = _base("sklearn.base", "TransformerMixin")


class LangChainEmbeddings(_Embeddings):  # type: ignore[misc]
    """LangChain's Embeddings: embed_documents, embed_query and their asynchronous forms.

    model    a SentenceTransformer, or a folder or name
    others   arguments of SentenceTransformer.encode
    """

    def __init__(self, model: Any, **encode_arguments: Any) -> None:
        self.model, self.arguments = _model(model), encode_arguments

    def embed_documents(self, texts: List[str]) -> List[List[float]]:
        """A vector for each text."""
        return self.model.encode_document(list(texts), **self.arguments).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> List[float]:
        """The vector of a query."""
        return self.model.encode_query(text, **self.arguments).tolist()  # type: ignore[no-any-return]

    async def aembed_documents(self, texts: List[str]) -> List[List[float]]:
        """embed_documents in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, self.embed_documents, texts)

    async def aembed_query(self, text: str) -> List[float]:
        """embed_query in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, self.embed_query, text)


def llama_index_embedding(model: Any, **encode_arguments: Any) -> Any:
    """An embedding model for LlamaIndex: an instance of a subclass of its BaseEmbedding, which checks the type. It can be
    pickled."""
    ours = LangChainEmbeddings(model, **encode_arguments)
    return _llama_index_class()(ours, model_name=ours.model._model.folder)


@functools.lru_cache(maxsize=None)
def _llama_index_class() -> Any:
    """The subclass, made when it is first needed: importing LlamaIndex takes seconds."""
    try:
        BaseEmbedding: Any = importlib.import_module("llama_index.core.base.embeddings.base").BaseEmbedding
    except ImportError as e:
        raise errors.UnsupportedError("llama_index_embedding: expected the package llama-index-core, got: %s; "
                                      "pip install llama-index-core" % e) from e

    class RoformerEmbedding(BaseEmbedding):  # type: ignore[misc]
        """Calls embed_documents and embed_query."""

        def __init__(self, ours: LangChainEmbeddings, **fields: Any) -> None:
            super().__init__(**fields)
            object.__setattr__(self, "_ours", ours)

        def __reduce__(self) -> Any:
            return _llama_index_again, (self._ours, self.model_dump())

        def __deepcopy__(self, memo: Any) -> Any:
            return _llama_index_again(self._ours, self.model_dump())

        @classmethod
        def class_name(cls) -> str:
            return "RoformerEmbedding"

        def _get_query_embedding(self, query: str) -> List[float]:
            return self._ours.embed_query(query)  # type: ignore[no-any-return]

        async def _aget_query_embedding(self, query: str) -> List[float]:
            return await self._ours.aembed_query(query)  # type: ignore[no-any-return]

        def _get_text_embedding(self, text: str) -> List[float]:
            return self._ours.embed_documents([text])[0]  # type: ignore[no-any-return]

        def _get_text_embeddings(self, texts: List[str]) -> List[List[float]]:
            return self._ours.embed_documents(texts)  # type: ignore[no-any-return]
    return RoformerEmbedding


def _llama_index_again(ours: LangChainEmbeddings, fields: Dict[str, Any]) -> Any:
    known = {name: value for name, value in fields.items() if name in ("model_name", "embed_batch_size", "num_workers")}
    return _llama_index_class()(ours, **known)


class SentenceVectorizer(_TransformerMixin):  # type: ignore[misc]
    """A transformer for scikit-learn: texts to vectors [n, D], in a Pipeline, a grid search or a ColumnTransformer.

    >>> import roformer_c.adapters
    >>> v = roformer_c.adapters.SentenceVectorizer("roformer-small-en-sentences")
    >>> v.fit_transform(["A dog barks.", "Prices fell."]).shape
    (2, 256)
    """

    def __init__(self, model: Any, normalize_embeddings: bool = False, truncate_dim: Optional[int] = None) -> None:
        self.model, self.normalize_embeddings, self.truncate_dim = model, normalize_embeddings, truncate_dim

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The arguments, as scikit-learn clones and searches them."""
        return {"model": self.model, "normalize_embeddings": self.normalize_embeddings, "truncate_dim": self.truncate_dim}

    def set_params(self, **arguments: Any) -> "SentenceVectorizer":
        """Sets arguments."""
        known = self.get_params()
        for name, value in arguments.items():
            if name not in known:
                raise errors.ArgumentError("set_params: expected one of %s, got %r" % (", ".join(known), name))
            setattr(self, name, value)
            if name == "model":
                self.__dict__.pop("model_", None)
        return self

    def fit(self, X: Iterable[str], y: Any = None) -> "SentenceVectorizer":
        """Opens the model; learns nothing."""
        if "model_" not in self.__dict__:
            self.model_ = _model(self.model)
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """The vectors of texts [n, D]."""
        self.fit(X)
        return self.model_.encode(X, normalize_embeddings=self.normalize_embeddings,
                                  truncate_dim=self.truncate_dim)

    def fit_transform(self, X: Iterable[str], y: Any = None, **unused: Any) -> NDArray[np.float32]:
        """fit, then transform."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Optional[Sequence[str]] = None) -> NDArray[np.object_]:
        """embedding0, embedding1, ..."""
        width = self.fit(()).model_.get_sentence_embedding_dimension()
        n = min(self.truncate_dim or width, width)
        return np.array(["embedding%d" % i for i in range(n)], object)

    def __sklearn_tags__(self) -> Any:
        utils = importlib.import_module("sklearn.utils")
        return utils.Tags(estimator_type=None, target_tags=utils.TargetTags(required=False),
                          transformer_tags=utils.TransformerTags())

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__


class MtebEncoder:
    """MTEB's EncoderProtocol, for `mteb.evaluate`. Texts come in batches {"text": [...]}."""

    def __init__(self, model: Any, **encode_arguments: Any) -> None:
        self.model, self.arguments = _model(model), encode_arguments
        self._meta: Any = None

    @property
    def mteb_model_meta(self) -> Any:
        """The model's description for MTEB."""
        if self._meta is None:
            self._meta = importlib.import_module("mteb.models").ModelMeta.create_empty({
                "name": "roformer-c/" + os.path.basename(os.path.normpath(self.model._model.folder)),
                "revision": "local", "embed_dim": self.model.get_sentence_embedding_dimension(),
                "max_tokens": float(self.model.max_seq_length)})
        return self._meta

    def encode(self, inputs: Iterable[Dict[str, Any]], *, task_metadata: Any = None, hf_split: str = "",
               hf_subset: str = "", prompt_type: Any = None, **more: Any) -> NDArray[np.float32]:
        """The vectors of all batches, with the folder's prompt for the task, its type, or queries and documents."""
        unknown = set(more) - {"batch_size", "show_progress_bar", "num_proc"}
        if unknown:
            raise errors.ArgumentError("encode: expected batch_size and show_progress_bar, got %s" % ", ".join(sorted(unknown)))
        more.pop("num_proc", None)
        texts = [t for batch in inputs for t in batch["text"]]
        kind = getattr(prompt_type, "value", prompt_type)
        encode = {"query": self.model.encode_query, "document": self.model.encode_document}.get(kind, self.model.encode)
        name = self._prompt_name(task_metadata, kind)
        chosen = {} if name is None or {"prompt", "prompt_name"} & set(self.arguments) else {"prompt_name": name}
        return encode(texts, **{**self.arguments, **chosen, **more})  # type: ignore[no-any-return]

    def _prompt_name(self, task: Any, kind: Optional[str]) -> Optional[str]:
        """The first of the folder's prompts in the order of MTEB: <task>-query, <task>, <type>-query, <type>, query."""
        names = [] if task is None else [task.name, task.type]
        order = [n for name in names for n in ([name + "-" + kind] if kind else []) + [name]] + ([kind] if kind else [])
        return next((n for n in order if n in self.model.prompts), None)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarities [n, m]."""
        return self.model.similarity(np.asarray(embeddings1), np.asarray(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Similarities [n]."""
        return self.model.similarity_pairwise(np.asarray(embeddings1), np.asarray(embeddings2))
