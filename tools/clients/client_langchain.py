"""langchain-openai and langchain-huggingface."""
from huggingface_hub import InferenceClient
from langchain_huggingface import HuggingFaceEndpoint, HuggingFaceEndpointEmbeddings
from langchain_openai import OpenAI, OpenAIEmbeddings
from lib import CAUSAL, TEXTS, VECTORS, WORDS, close

embeddings = OpenAIEmbeddings(base_url=WORDS + "/v1", api_key="none", model="words", check_embedding_ctx_length=False)
close(embeddings.embed_documents(TEXTS), VECTORS)
close(embeddings.embed_query(TEXTS[0]), VECTORS[0])
assert isinstance(OpenAI(base_url=CAUSAL + "/v1", api_key="none", model="causal", max_tokens=5).invoke("the"), str)

embeddings = HuggingFaceEndpointEmbeddings(model="name/of-a-model", model_kwargs={"normalize": True})
embeddings.client = InferenceClient(WORDS)              # it takes no address itself
close(embeddings.embed_documents(TEXTS), VECTORS)
close(embeddings.embed_query(TEXTS[0]), VECTORS[0])
text = HuggingFaceEndpoint(endpoint_url=CAUSAL, max_new_tokens=5, do_sample=False, temperature=None, top_p=None, typical_p=1).invoke("the")
assert isinstance(text, str) and text
