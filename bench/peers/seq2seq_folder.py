"""seq2seq_folder.py t5|nllb TOKENIZER TO: a folder with the shape of t5-base or of nllb-200-distilled-600M with 6 + 6 layers and random
weights, and the tokenizer files of TOKENIZER, for bench/translate.py --forced.

    python bench/peers/seq2seq_folder.py t5 tests/golden/t5/whole build/peers/t5"""
import os
import shutil
import sys

import torch
import transformers

name, tokenizer, to = sys.argv[1:]
torch.manual_seed(0)
if name == "t5":
    config = transformers.T5Config(vocab_size=32128, d_model=768, d_kv=64, d_ff=3072, num_layers=6, num_heads=12, decoder_start_token_id=0,
                                   pad_token_id=0, eos_token_id=1)
    model = transformers.T5ForConditionalGeneration(config)
else:
    words = transformers.AutoTokenizer.from_pretrained(tokenizer)
    config = transformers.M2M100Config(vocab_size=256206, d_model=1024, encoder_layers=6, decoder_layers=6, encoder_attention_heads=16,
                                       decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096, max_position_embeddings=1024,
                                       scale_embedding=True, bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
                                       forced_bos_token_id=words.convert_tokens_to_ids("deu_Latn"))
    model = transformers.M2M100ForConditionalGeneration(config)
model.save_pretrained(to)
for file in os.listdir(tokenizer):
    if "token" in file or file.endswith((".model", "vocab.json")):
        shutil.copy(os.path.join(tokenizer, file), to)
