"""cohere: rerank of both versions of its interface."""
import cohere
from lib import RANK, TEXTS, fails

for kind in (cohere.Client, cohere.ClientV2):
    client = kind(api_key="none", base_url=RANK)
    got = client.rerank(model="rank", query="the river", documents=TEXTS)
    scores = [r.relevance_score for r in got.results]
    assert sorted(r.index for r in got.results) == list(range(len(TEXTS)))
    assert scores == sorted(scores, reverse=True) and all(0 <= s <= 1 for s in scores)
    assert len(client.rerank(model="rank", query="the river", documents=TEXTS, top_n=2).results) == 2
    fails(cohere.NotFoundError, client.rerank, model="other", query="a", documents=["b"])
