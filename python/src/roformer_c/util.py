"""util of sentence-transformers: similarities, search, paraphrases and communities of vectors.

Vectors are arrays or tensors. Functions that give matrices give tensors for tensors, and arrays otherwise."""
from __future__ import annotations

import enum
import heapq
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import numpy as np
from numpy.typing import NDArray

from . import errors, tensors
from ._model import Floats
from .similarities import matrix, quantized, similarity

Pairs = Callable[[Any, Any], Any]


class SimilarityFunction(enum.Enum):
    """The names of similarities."""
    COSINE = "cosine"
    DOT_PRODUCT = DOT = "dot"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"

    @staticmethod
    def possible_values() -> List[str]:
        """All names."""
        return [f.value for f in SimilarityFunction]

    @staticmethod
    def to_similarity_fn(name: Any) -> Pairs:
        """The function of all pairs."""
        return _FUNCTIONS[SimilarityFunction(getattr(name, "value", name)).value][0]

    @staticmethod
    def to_similarity_pairwise_fn(name: Any) -> Pairs:
        """The function of corresponding rows."""
        return _FUNCTIONS[SimilarityFunction(getattr(name, "value", name)).value][1]


def _all_pairs(a: Any, b: Any, name: str) -> Any:
    return tensors.like(similarity(matrix(a, "a"), matrix(b, "b"), name), a, b)


def _rows(a: Any, b: Any, name: str) -> Any:
    x, y = matrix(a, "a"), matrix(b, "b")
    if x.shape != y.shape:
        raise errors.ArgumentError("b: expected the shape of a, %r, got %r" % (x.shape, y.shape))
    found = [similarity(x[i:i + 1], y[i:i + 1], name)[0, 0] for i in range(len(x))]
    return tensors.like(np.array(found, np.float32), a, b)


def cos_sim(a: Any, b: Any) -> Any:
    """Cosines of all rows of a with all rows of b [n, m].

    >>> from roformer_c import util
    >>> util.cos_sim([1.0, 0.0], [[2.0, 0.0], [0.0, 3.0]]).tolist()
    [[1.0, 0.0]]
    """
    return _all_pairs(a, b, "cosine")


pytorch_cos_sim = cos_sim


def dot_score(a: Any, b: Any) -> Any:
    """Dot products of all rows of a with all rows of b [n, m]."""
    return _all_pairs(a, b, "dot")


def euclidean_sim(a: Any, b: Any) -> Any:
    """Negative distances of all rows of a from all rows of b [n, m]."""
    return _all_pairs(a, b, "euclidean")


def manhattan_sim(a: Any, b: Any) -> Any:
    """Negative sums of absolute differences of all rows of a and b [n, m]."""
    return _all_pairs(a, b, "manhattan")


def pairwise_cos_sim(a: Any, b: Any) -> Any:
    """Cosines of corresponding rows [n]."""
    return _rows(a, b, "cosine")


def pairwise_dot_score(a: Any, b: Any) -> Any:
    """Dot products of corresponding rows [n]."""
    return _rows(a, b, "dot")


def pairwise_euclidean_sim(a: Any, b: Any) -> Any:
    """Negative distances of corresponding rows [n]."""
    return _rows(a, b, "euclidean")


def pairwise_manhattan_sim(a: Any, b: Any) -> Any:
    """Negative sums of absolute differences of corresponding rows [n]."""
    return _rows(a, b, "manhattan")


_FUNCTIONS: Dict[str, Tuple[Pairs, Pairs]] = {
    "cosine": (cos_sim, pairwise_cos_sim), "dot": (dot_score, pairwise_dot_score),
    "euclidean": (euclidean_sim, pairwise_euclidean_sim), "manhattan": (manhattan_sim, pairwise_manhattan_sim)}


def normalize_embeddings(embeddings: Any) -> Any:
    """The rows divided by their lengths."""
    x = matrix(embeddings, "embeddings")
    return tensors.like(np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12), np.float32), embeddings)


def truncate_embeddings(embeddings: Any, truncate_dim: Optional[int]) -> Any:
    """The first truncate_dim numbers of the vectors."""
    return embeddings[..., :truncate_dim]


def quantize_embeddings(embeddings: Any, precision: Any, ranges: Any = None, calibration_embeddings: Any = None) -> Any:
    """Vectors as int8 or uint8 (scaled by `ranges` [2, D], else by those of calibration_embeddings or of the vectors), or
    binary or ubinary, one bit a number."""
    def array(x: Any) -> Any:
        return None if x is None else matrix(x, "ranges, calibration_embeddings")
    limits = array(ranges)
    if limits is None and calibration_embeddings is not None:
        known = array(calibration_embeddings)
        limits = np.stack([known.min(axis=0), known.max(axis=0)])
    return quantized(matrix(embeddings, "embeddings"), getattr(precision, "value", precision), limits)


def _top(scores: Floats, k: int) -> NDArray[np.int64]:
    """The columns of the k largest numbers of each row, the largest first; of equal ones the first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def semantic_search(query_embeddings: Any, corpus_embeddings: Any, query_chunk_size: int = 100,
                    corpus_chunk_size: int = 500000, top_k: int = 10,
                    score_function: Pairs = cos_sim) -> List[List[Dict[str, Any]]]:
    """For each query the top_k rows of the corpus: [{"corpus_id", "score"}], the best first.

    >>> import numpy
    >>> from roformer_c import util
    >>> util.semantic_search(numpy.eye(2)[:1], numpy.eye(2), top_k=1)
    [[{'corpus_id': 0, 'score': 1.0}]]
    """
    queries, corpus = matrix(query_embeddings, "query_embeddings"), matrix(corpus_embeddings, "corpus_embeddings")
    out: List[List[Dict[str, Any]]] = []
    for q in range(0, len(queries), query_chunk_size):
        part = queries[q:q + query_chunk_size]
        best: List[List[Tuple[float, int]]] = [[] for _ in part]
        for c in range(0, len(corpus), corpus_chunk_size):
            scores = _scores(score_function, part, corpus[c:c + corpus_chunk_size], query_embeddings)
            for row, columns, found in zip(scores, _top(scores, top_k), best):
                found += [(float(row[k]), c + int(k)) for k in columns]
        out += [[{"corpus_id": k, "score": s} for s, k in sorted(found, key=lambda x: -x[0])[:top_k]] for found in best]
    return out


def _scores(function: Pairs, a: Floats, b: Floats, like: Any) -> Floats:
    """function(a, b) as an array; functions of the caller get tensors if the vectors were tensors."""
    return np.asarray(tensors.array(function(tensors.like(a, like), tensors.like(b, like))), np.float32)


def paraphrase_mining(model: Any, sentences: List[str], show_progress_bar: bool = False, batch_size: int = 32,
                      query_chunk_size: int = 5000, corpus_chunk_size: int = 100000, max_pairs: int = 500000,
                      top_k: int = 100, score_function: Pairs = cos_sim, truncate_dim: Optional[int] = None,
                      prompt_name: Optional[str] = None, prompt: Optional[str] = None) -> List[List[Any]]:
    """The pairs of texts with the highest scores: [[score, i, j]], i < j, the best first."""
    vectors = model.encode(sentences, prompt_name=prompt_name, prompt=prompt, batch_size=batch_size,
                           show_progress_bar=show_progress_bar, truncate_dim=truncate_dim)
    return paraphrase_mining_embeddings(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function)


def paraphrase_mining_embeddings(embeddings: Any, query_chunk_size: int = 5000, corpus_chunk_size: int = 100000,
                                 max_pairs: int = 500000, top_k: int = 100,
                                 score_function: Pairs = cos_sim) -> List[List[Any]]:
    """As `paraphrase_mining`, from vectors; of each row its top_k neighbors are looked at."""
    found = semantic_search(embeddings, embeddings, query_chunk_size, corpus_chunk_size, top_k + 1, score_function)
    pairs: List[Tuple[float, int, int]] = []            # a heap, the worst first
    seen: Set[Tuple[int, int]] = set()
    for i, row in enumerate(found):
        for hit in [h for h in row if h["corpus_id"] != i][:top_k]:
            j, score = hit["corpus_id"], hit["score"]
            pair = (min(i, j), max(i, j))
            if pair in seen or len(pairs) == max_pairs and score <= pairs[0][0]:
                continue
            seen.add(pair)
            if len(pairs) < max_pairs:
                heapq.heappush(pairs, (score, *pair))
            else:
                seen.discard(heapq.heapreplace(pairs, (score, *pair))[1:])
    return sorted(([s, i, j] for s, i, j in pairs), key=lambda x: -x[0])


def community_detection(embeddings: Any, threshold: float = 0.75, min_community_size: int = 10, batch_size: int = 1024,
                        show_progress_bar: bool = False) -> List[List[int]]:
    """Groups of at least min_community_size rows whose cosine with the first of the group is `threshold` or more, the
    largest first. No row is in two groups."""
    if not len(embeddings):
        return []
    x = normalize_embeddings(matrix(embeddings, "embeddings"))
    found: List[Tuple[int, NDArray[np.int64]]] = []
    for at in range(0, len(x), batch_size):
        scores = x[at:at + batch_size] @ x.T
        for i in np.nonzero((scores >= threshold).sum(axis=1) >= min_community_size)[0]:
            row = np.argsort(-scores[i], kind="stable")
            found.append((at + int(i), row[:int((scores[i] >= threshold).sum())]))
    out, used = [], np.zeros(len(x), bool)
    for center, members in sorted(found, key=lambda f: -len(f[1])):
        free = members[~used[members]]
        if not used[center] and len(free) >= min_community_size:
            group = [center] + [int(k) for k in free if k != center]
            out.append(group)
            used[group] = True
    return sorted(out, key=len, reverse=True)
