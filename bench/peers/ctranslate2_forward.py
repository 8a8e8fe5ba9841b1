"""CTranslate2, f32, or int8 as argument.  It has no RoFormer: a BERT of the same size, which does a little less (no rotation)."""
import shutil
import sys
from peer import *
import ctranslate2
import transformers

how = sys.argv[1] if len(sys.argv) > 1 else "float32"
to = os.path.join(PEERS, "bert-ctranslate2-" + how)
if not os.path.exists(to):
    plain = os.path.join(PEERS, "bert")
    transformers.BertConfig.position_embedding_type = "absolute"
    transformers.BertModel(transformers.BertConfig(vocab_size=30522)).save_pretrained(plain)
    with open(os.path.join(plain, "vocab.txt"), "w", encoding="utf8") as f:
        f.writelines(w + "\n" for w in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"word{i}" for i in range(30517)])
    transformers.BertTokenizerFast(os.path.join(plain, "vocab.txt")).save_pretrained(plain)
    ctranslate2.converters.TransformersConverter(plain).convert(to, quantization=how)
    shutil.rmtree(plain)
encoder = ctranslate2.Encoder(to, device="cpu", compute_type=how, inter_threads=1, intra_threads=THREADS)

def run(ids, mask):
    tokens = [[int(i) for i in text[:n]] for text, n in zip(ids, mask.sum(1))]
    return np.array(encoder.forward_batch(tokens).last_hidden_state)

serve(f"ctranslate2 bert {how}", ctranslate2.__version__, forward=forward(run))
