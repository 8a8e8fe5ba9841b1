"""A client that openapi-python-client makes of /openapi.json: its functions return objects of their own classes."""
import importlib
import os
import subprocess
import sys
import tempfile

from lib import CAUSAL, LABELS, RANK, TEXTS, VECTORS, WORDS, close

with tempfile.TemporaryDirectory() as work:
    made = subprocess.run([os.path.join(os.path.dirname(sys.executable), "openapi-python-client"), "generate", "--meta", "none", "--url",
                           WORDS + "/openapi.json", "--output-path", work + "/roformer_client"], capture_output=True, text=True, check=True)
    assert "will not be generated" not in made.stdout + made.stderr, made.stdout + made.stderr
    sys.path.insert(0, work)
    models = importlib.import_module("roformer_client.models")
    Client = importlib.import_module("roformer_client").Client

    def ask(address, tag, name, **members):
        function = importlib.import_module(f"roformer_client.api.{tag}.{name}").sync
        body = {"body": getattr(models, "".join(x.title() for x in name.split("_")) + "Body")(**members)} if members else {}
        return function(client=Client(address), **body)

    got = ask(WORDS, "vectors", "post_v1_embeddings", input_=TEXTS)
    assert isinstance(got, models.Embeddings) and got.usage.prompt_tokens > 0
    close([d.embedding for d in got.data], VECTORS)
    assert isinstance(ask(RANK, "labels", "post_rerank", query="a", texts=TEXTS)[0], models.Rank)
    assert isinstance(ask(LABELS, "labels", "post_predict", inputs="a")[0], models.Label)
    assert isinstance(ask(WORDS, "labels", "post_predict", inputs="a"), models.Error)
    assert ask(CAUSAL, "text", "post_v1_completions", prompt="the", max_tokens=3).choices[0].finish_reason == "length"
    assert isinstance(ask(WORDS, "server", "get_info"), models.Info)
    assert ask(WORDS, "server", "get_v1_models").data[0].id == "words"
