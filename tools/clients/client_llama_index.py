"""llama-index: embeddings as of OpenAI and of text-embeddings-inference, and its reranker."""
from lib import RANK, TEXTS, VECTORS, WORDS, close
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

like = OpenAILikeEmbedding(model_name="words", api_base=WORDS + "/v1", api_key="none")
tei = TextEmbeddingsInference(model_name="words", base_url=WORDS)
for embeddings in (like, tei):
    close(embeddings.get_text_embedding_batch(TEXTS), VECTORS)
    close(embeddings.get_query_embedding(TEXTS[0]), VECTORS[0])

nodes = [NodeWithScore(node=TextNode(text=t), score=0.0) for t in TEXTS]
best = TextEmbeddingInference(base_url=RANK, top_n=2).postprocess_nodes(nodes, QueryBundle("the river"))
assert len(best) == 2 and best[0].score >= best[1].score and best[0].node.text in TEXTS
