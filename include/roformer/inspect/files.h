/* files.h — the names of what a model folder and a run's folder hold.
 *
 * A path is made of these, nowhere of a name in quotes (tools/check/files.sh); a message may name a file.
 * docs/formats.md says what is in them.
 *
 * threads   constants: safe everywhere                                                                              */
#ifndef ROFORMER_FILES_H
#define ROFORMER_FILES_H

/* A model. */
#define RF_FILE_CONFIG "config.json"
#define RF_FILE_GENERATION "generation_config.json"       /* how its texts are found                                  */
#define RF_FILE_WEIGHTS "model.safetensors"
#define RF_FILE_WEIGHTS_INDEX "model.safetensors.index.json"
#define RF_FILE_TORCH "pytorch_model.bin"                 /* what torch.save wrote; read, never written               */
#define RF_FILE_TORCH_INDEX "pytorch_model.bin.index.json"
#define RF_FILE_CARD "README.md"
#define RF_FILE_CHECKSUMS "checksums.json"                /* of a trained model's files                               */

/* Its tokenizer: known to src/text alone; others ask rf_tokenizer_files, rf_tokenizer_found. */
#define RF_FILE_ADAPTER "adapter_config.json"             /* of PEFT: such a folder is refused                        */
#define RF_FILE_VOCAB "vocab.txt"
#define RF_FILE_VOCAB_JSON "vocab.json"
#define RF_FILE_SUBWORDS "spiece.model"
#define RF_FILE_SOURCE_SUBWORDS "source.spm"              /* Marian's, of each side                                  */
#define RF_FILE_TARGET_SUBWORDS "target.spm"
#define RF_FILE_TOKENIZER "tokenizer.json"
#define RF_FILE_TOKENIZER_CONFIG "tokenizer_config.json"
#define RF_FILE_SPECIAL_TOKENS "special_tokens_map.json"
#define RF_FILE_ADDED_TOKENS "added_tokens.json"          /* of older folders: read, never written                    */
#define RF_FILE_DICTIONARY "dictionary.words"             /* of Chinese words, compiled: the folder's own            */

/* Vectors of texts, as sentence-transformers records them. */
#define RF_FILE_MODULES "modules.json"
#define RF_FILE_SENTENCE "sentence_bert_config.json"      /* of its Transformer                                      */
#define RF_FILE_PROMPTS "config_sentence_transformers.json"
#define RF_FILE_POOLING "1_Pooling/config.json"
#define RF_FILE_NORMALIZE "2_Normalize/config.json"

/* An index of vectors. */
#define RF_FILE_INDEX "index.json"
#define RF_FILE_INDEX_CODES "codes.npy"
#define RF_FILE_INDEX_SCALES "scales.npy"
#define RF_FILE_INDEX_VECTORS "vectors.faiss"
#define RF_FILE_INDEX_LINES "lines.txt"
#define RF_FILE_INDEX_OFFSETS "offsets.npy"

/* A checkpoint, besides the model. */
#define RF_FILE_COMPLETE "COMPLETE"                       /* its checksums, written last                              */
#define RF_FILE_STATE "trainer_state.json"
#define RF_FILE_MOMENTS "optimizer.safetensors"
#define RF_FILE_MEANS "ema.safetensors"

/* A run. */
#define RF_FILE_LOCK ".lock"
#define RF_FILE_METRICS "metrics.jsonl"
#define RF_FILE_TOKENS "tokens.cache"
#define RF_FILE_RESULTS "all_results.json"
#define RF_FILE_REPORT "report.html"
#define RF_FILE_DROPPED "dropped.tsv"                     /* pairs of texts that were not trained on                  */

#endif
