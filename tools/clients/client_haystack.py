"""haystack: its embedders for OpenAI, with 100 documents."""
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret
from lib import TEXTS, VECTORS, WORDS, close

options = {"api_key": Secret.from_token("none"), "model": "words", "api_base_url": WORDS + "/v1"}
close(OpenAITextEmbedder(**options).run(text=TEXTS[0])["embedding"], VECTORS[0])
documents = OpenAIDocumentEmbedder(**options, progress_bar=False).run(documents=[Document(content=TEXTS[i % 4]) for i in range(100)])
for i, document in enumerate(documents["documents"]):
    close(document.embedding, VECTORS[i % 4])
