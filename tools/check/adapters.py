#!/usr/bin/env python3
"""adapters.py: the adapters of roformer_c with the real packages: LangChain, LlamaIndex, scikit-learn, MTEB. Run it in an environment
that has roformer_c, langchain-core, llama-index-core, scikit-learn and mteb; without one of them, its part is named as skipped. The
result of MTEB is compared with that of sentence-transformers on the same folder."""
import os
import pathlib
import pickle
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np

from roformer_c import SentenceTransformer
from roformer_c.adapters import LangChainEmbeddings, MtebEncoder, SentenceVectorizer, llama_index_embedding

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = str(ROOT / "models" / "roformer-small-en-sentences")
TEXTS = ["A dog barks at the moon.", "Prices fell by two percent.", "The orchestra played a symphony.",
         "A hound howled all night.", "Shares rose on Monday.", "The band recorded an album."]
LABELS = ["animal", "money", "music", "animal", "money", "music"]
model = SentenceTransformer(FOLDER)
vectors = model.encode(TEXTS)


def langchain():
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    assert isinstance(LangChainEmbeddings(model), Embeddings)
    store = InMemoryVectorStore(LangChainEmbeddings(model))
    store.add_documents([Document(page_content=t, metadata={"label": k}) for t, k in zip(TEXTS, LABELS)])
    found = store.similarity_search_with_score("a barking dog", k=2)
    assert [d.metadata["label"] for d, _ in found] == ["animal", "animal"], found
    assert abs(found[0][1] - float(vectors[0] @ model.encode("a barking dog"))) < 1e-6
    return "similarity_search: " + found[0][0].page_content


def llama_index():
    from llama_index.core import Document, VectorStoreIndex
    index = VectorStoreIndex.from_documents([Document(text=t) for t in TEXTS], embed_model=llama_index_embedding(model))
    found = index.as_retriever(similarity_top_k=2).retrieve("a barking dog")
    assert [n.text for n in found] == [TEXTS[0], TEXTS[3]], found
    return "retrieve: " + found[0].text


def scikit_learn():
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    vectorizer = SentenceVectorizer(FOLDER)
    clone = sklearn.base.clone(vectorizer)
    assert clone.get_params() == vectorizer.get_params()
    assert np.array_equal(vectorizer.fit_transform(TEXTS), vectors)
    pipe = make_pipeline(vectorizer, LogisticRegression())
    pipe.fit(TEXTS, LABELS)
    assert pipe.predict(["the dog howled"]).tolist() == ["animal"]
    assert pickle.loads(pickle.dumps(pipe)).predict(["the dog howled"]).tolist() == ["animal"]
    search = GridSearchCV(pipe, {"sentencevectorizer__truncate_dim": [64, None]}, cv=2)
    search.fit(TEXTS, LABELS)
    return "GridSearchCV: %s" % search.best_params_


def mteb_tasks():
    import datasets
    import mteb
    from mteb.abstasks import AbsTaskSTS

    lines = [x.strip() for p in sorted((ROOT / "docs").glob("*.md")) for x in p.read_text().split("\n")
             if len(x.split()) > 8 and x[0].isalpha()][:120]

    class LocalSTS(AbsTaskSTS):
        """Sentences and the same with some of their words: the more words are kept, the higher the score."""
        metadata = mteb.TaskMetadata(
            name="LocalSTS", description="sentences of the project's pages", reference=None, type="STS", category="t2t",
            modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="cosine_spearman", date=None,
            dataset={"path": "local", "revision": "1"}, domains=[], task_subtypes=[], license=None,
            annotations_creators=None, dialect=[], sample_creation=None, bibtex_citation="")

        def load_data(self, *unused, **more):
            rows = {"sentence1": lines, "sentence2": [" ".join(x.split()[:max(1, len(x.split()) * (i % 5 + 1) // 5)]) for i, x in
                                                      enumerate(lines)], "score": [float(i % 5 + 1) for i in range(len(lines))]}
            self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)})
            self.data_loaded = True
    scores = []
    import sentence_transformers
    for encoder in (MtebEncoder(model), sentence_transformers.SentenceTransformer(FOLDER, device="cpu")):
        result = mteb.evaluate(encoder, LocalSTS(), cache=None, show_progress_bar=False)
        scores.append(result.task_results[0].get_score())
    assert abs(scores[0] - scores[1]) < 1e-4 and scores[0] > 0.1, scores
    return "cosine_spearman %.4f; sentence-transformers %.4f" % tuple(scores)


failed = skipped = 0
for name, check in (("LangChain", langchain), ("LlamaIndex", llama_index), ("scikit-learn", scikit_learn), ("MTEB", mteb_tasks)):
    try:
        print("adapters: %s: %s" % (name, check()))
    except ImportError as e:
        skipped += 1
        print("adapters: %s: skipped: %s" % (name, e))
sys.exit(77 if skipped else 0)
