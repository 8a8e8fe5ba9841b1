"""cohere: rerank, vectors and tokens of both versions of its interface."""
import cohere
from lib import RANK, TEXTS, VECTORS, WORDS, close, fails

for kind in (cohere.Client, cohere.ClientV2):
    client = kind(api_key="none", base_url=RANK)
    got = client.rerank(model="rank", query="the river", documents=TEXTS)
    scores = [r.relevance_score for r in got.results]
    assert sorted(r.index for r in got.results) == list(range(len(TEXTS)))
    assert scores == sorted(scores, reverse=True) and all(0 <= s <= 1 for s in scores)
    assert len(client.rerank(model="rank", query="the river", documents=TEXTS, top_n=2).results) == 2
    if kind is cohere.Client:
        chunks = client.rerank(model="rank", query="the river", documents=TEXTS, max_chunks_per_doc=10).results
        assert [r.relevance_score for r in chunks] == scores
    fails(cohere.NotFoundError, client.rerank, model="other", query="a", documents=["b"])
    assert len(client.rerank(model="rank", query="the river", documents=TEXTS[:1] * 1000).results) == 1000
    client = kind(api_key="none", base_url=WORDS)
    got = client.embed(model="words", texts=TEXTS, input_type="search_document", embedding_types=["float"])
    close(got.embeddings.float_, VECTORS)

client = cohere.Client(api_key="none", base_url=WORDS)
close(client.embed(model="words", texts=TEXTS, input_type="search_query").embeddings, VECTORS)
tokens = client.tokenize(text=TEXTS[0], model="words", offline=False).tokens
assert client.detokenize(tokens=tokens, model="words", offline=False).text
