"""haystack: its embedders for OpenAI, with 100 documents, and its chat generator."""
from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from lib import CHAT, TEXTS, VECTORS, WORDS, close

options = {"api_key": Secret.from_token("none"), "model": "words", "api_base_url": WORDS + "/v1"}
close(OpenAITextEmbedder(**options).run(text=TEXTS[0])["embedding"], VECTORS[0])
documents = OpenAIDocumentEmbedder(**options, progress_bar=False).run(documents=[Document(content=TEXTS[i % 4]) for i in range(100)])
for i, document in enumerate(documents["documents"]):
    close(document.embedding, VECTORS[i % 4])

generator = OpenAIChatGenerator(api_key=options["api_key"], api_base_url=CHAT + "/v1", model="chat",
                                generation_kwargs={"max_completion_tokens": 8, "temperature": 0})
messages = [ChatMessage.from_system("Be brief"), ChatMessage.from_user("hello")]
whole = generator.run(messages)["replies"][0]
assert whole.text and whole.meta["finish_reason"] == "length" and whole.meta["usage"]["completion_tokens"] == 8
pieces = []
assert generator.run(messages, streaming_callback=pieces.append)["replies"][0].text == whole.text and len(pieces) > 2
