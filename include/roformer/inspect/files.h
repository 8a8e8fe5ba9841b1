/* files.h — the names of the files in model folders and run folders.
 *
 * The code uses these names instead of string literals (tools/check/files.sh), except in messages. docs/formats.md
 * describes the files.
 *
 * threads   only constants: safe everywhere */
#ifndef ROFORMER_FILES_H
#define ROFORMER_FILES_H

/* A model. */
#define RF_FILE_CONFIG "config.json"
#define RF_FILE_GENERATION "generation_config.json"       /* settings of text generation */
#define RF_FILE_WEIGHTS "model.safetensors"
#define RF_FILE_WEIGHTS_INDEX "model.safetensors.index.json"
#define RF_FILE_TORCH "pytorch_model.bin"                 /* written by torch.save; read, never written */
#define RF_FILE_TORCH_INDEX "pytorch_model.bin.index.json"
#define RF_FILE_TF_CONFIG "bert_config.json"             /* of TensorFlow checkpoints with the variables of BERT */
#define RF_FILE_TF_INDEX "bert_model.ckpt.index" /* its values are in bert_model.ckpt.data-*; read, never written */
#define RF_FILE_KERAS "tf_model.h5"                       /* HDF5, of transformers 4; read, never written */
#define RF_FILE_CARD "README.md"
#define RF_FILE_CHECKSUMS "checksums.json"                /* checksums of a trained model's files */

/* The tokenizer. Only src/text uses these names; other code calls rf_tokenizer_files and rf_tokenizer_found. */
#define RF_FILE_ADAPTER "adapter_config.json"             /* of PEFT: such a folder is refused */
#define RF_FILE_VOCAB "vocab.txt"
#define RF_FILE_VOCAB_JSON "vocab.json"
#define RF_FILE_MERGES "merges.txt"                      /* with vocab.json: read, never written */
#define RF_FILE_SUBWORDS "spiece.model"
#define RF_FILE_SOURCE_SUBWORDS "source.spm"              /* Marian: one file for each language */
#define RF_FILE_TARGET_SUBWORDS "target.spm"
#define RF_FILE_TOKENIZER "tokenizer.json"
#define RF_FILE_TOKENIZER_CONFIG "tokenizer_config.json"
#define RF_FILE_SPECIAL_TOKENS "special_tokens_map.json"
#define RF_FILE_ADDED_TOKENS "added_tokens.json"          /* in older folders: read, never written */
#define RF_FILE_CHAT_TEMPLATE "chat_template.jinja"       /* how messages become a text: read and copied */
#define RF_FILE_DICTIONARY "dictionary.words"             /* compiled dictionary of Chinese words */

/* Sentence embeddings, in the format of sentence-transformers. */
#define RF_FILE_MODULES "modules.json"
#define RF_FILE_SENTENCE "sentence_bert_config.json"      /* settings of its Transformer */
#define RF_FILE_PROMPTS "config_sentence_transformers.json"
#define RF_FILE_POOLING "1_Pooling/config.json"
#define RF_FILE_NORMALIZE "2_Normalize/config.json"

/* An index of embeddings. */
#define RF_FILE_INDEX "index.json"
#define RF_FILE_INDEX_CODES "codes.npy"
#define RF_FILE_INDEX_SCALES "scales.npy"
#define RF_FILE_INDEX_VECTORS "vectors.faiss"
#define RF_FILE_INDEX_LINES "lines.txt"
#define RF_FILE_INDEX_OFFSETS "offsets.npy"

/* A checkpoint has these files in addition to the model. */
#define RF_FILE_COMPLETE "COMPLETE"                       /* its checksums, written last */
#define RF_FILE_STATE "trainer_state.json"
#define RF_FILE_MOMENTS "optimizer.safetensors"
#define RF_FILE_MEANS "ema.safetensors"

/* A run. */
#define RF_FILE_LOCK ".lock"
#define RF_FILE_METRICS "metrics.jsonl"
#define RF_FILE_TOKENS "tokens.cache"
#define RF_FILE_RESULTS "all_results.json"
#define RF_FILE_REPORT "report.html"
#define RF_FILE_DROPPED "dropped.tsv"                     /* sentence pairs that were not used */

#endif
