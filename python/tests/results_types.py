"""What type checkers find of results: mypy --strict accepts this file. It is not run."""
from typing import Any, Dict, List, Union

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

from roformer_c import CrossEncoder, Encoding, SentenceTransformer, Tokenizer, pipeline
from roformer_c.answers import QuestionAnsweringPipeline
from roformer_c.cross import Ranked
from roformer_c.pipelines import FillMaskPipeline, Label
from roformer_c.tags import Entity
from roformer_c.zero_shot import ZeroShotClassificationPipeline

Floats = NDArray[np.float32]
model = SentenceTransformer("a", trust_remote_code=True)
assert_type(model.encode("a"), Floats)
assert_type(model.encode(["a", "b"], batch_size=3, normalize_embeddings=True), Floats)
assert_type(model.encode(inputs=["a"], precision="int8"), NDArray[Any])
assert_type(model.encode("a", output_value="token_embeddings"), Floats)
assert_type(model.encode(["a"], output_value="token_embeddings"), List[Floats])
assert_type(model.encode(["a"], output_value=None), List[Dict[str, NDArray[Any]]])
assert_type(model.encode_query("a"), Floats)
assert_type(model.encode_document(["a"], prompt="b"), Floats)
assert_type(model.similarity(model.encode("a"), model.encode(["b"])), Floats)
assert_type(model.similarity_pairwise([[1.0]], [[2.0]]), Floats)
assert_type([v for v in model.encode_stream(["a"])], List[Floats])

cross = CrossEncoder("a")
assert_type(cross.predict([("a", "b")]), Floats)
assert_type(cross.predict([["a", "b"]], apply_softmax=True), Floats)
assert_type(cross.predict(("a", "b")), Union[np.float32, Floats])
assert_type(cross.rank("a", ["b"], return_documents=True), List[Ranked])

classify = pipeline("text-classification", "a", truncation=True)
assert_type(classify("a"), List[Label])
assert_type(classify(["a", ("b", "c")], max_length=8), List[Label])
assert_type(classify({"text": "a", "text_pair": "b"}), Label)
assert_type(classify("a", top_k=None), List[Label])
assert_type(classify(["a"], top_k=2), List[List[Label]])
assert_type(pipeline("fill-mask", "a"), FillMaskPipeline)
assert_type(pipeline("ner", "a")("a"), List[Entity])
assert_type(pipeline("token-classification", "a")(["a"]), List[List[Entity]])
assert_type(pipeline("question-answering", "a"), QuestionAnsweringPipeline)
assert_type(pipeline("zero-shot-classification", "a"), ZeroShotClassificationPipeline)
assert_type(pipeline("feature-extraction", "a")("a", return_tensors="np"), Floats)
assert_type(pipeline("feature-extraction", "a")("a"), List[List[List[float]]])
assert_type(pipeline("translation", "a")(["a"]), List[Dict[str, str]])
assert_type(pipeline("text-generation", "a")(["a"], max_new_tokens=3), List[List[Dict[str, str]]])

encodings = Tokenizer.from_folder("a").encode_batch(["a"])
assert_type(encodings[0], Encoding)
assert_type(encodings[1:], List[Encoding])
