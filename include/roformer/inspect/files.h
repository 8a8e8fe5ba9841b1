/* files.h — files and folders: the names of files in model folders and run folders; a folder that is held, or is in
 * memory; the bytes of a file that may be compressed; the documents of text files.
 *
 * threads   names are constants. The comment of each part below says what its objects allow */
#ifndef ROFORMER_FILES_H
#define ROFORMER_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names of files ----
 *
 * The code uses these names instead of string literals (tools/check/files.sh), except in messages. docs/formats.md
 * describes the files. */

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

/* ---- a folder that others may replace, or its files, while it is read ----
 *
 * Functions that open something from a folder hold it themselves. A program holds a folder to make several such calls
 * agree: the configuration that it shows and the model that it opens are then of one state of the folder.
 *
 * threads   the thread that holds a folder releases it */

typedef struct rf_held_folder rf_held_folder;

/* Until it releases the folder, the calling thread reads the folder that was there when it was held, and each file in
 * it once, in all calls with this context and a path that begins with this one. Do not write to a folder that you hold.
 *
 *   out        released with rf_folder_release by the same thread; NULL for what is not a folder of the file system,
 *              such as a folder in memory, which never changes. A thread may hold a folder again: both release it
 *   memory     the files that are read, except weights
 *   RF_ENOMEM  out of memory */
rf_status rf_folder_hold(const rf_ctx *ctx, const char *folder, rf_held_folder **out, rf_error *why);

/* Releases the folder after something that ended with `status`, which it returns unless a file has changed.
 *
 *   f          becomes NULL, which is allowed
 *   RF_EIO     names a file that was changed, replaced, created or removed while the folder was held, so that what was
 *              read may not belong together: close what was opened, and open it again. It takes the place of an error
 *              of `status`, of which it may be the cause. Only the last release of a folder looks for that */
rf_status rf_folder_release(rf_held_folder **f, rf_status status, rf_error *why);

/* ---- a folder in memory ----
 *
 *     const rf_memory_file file[] = {{"config.json", config, config_size},
 *                                    {"vocab.txt", vocab, vocab_size},
 *                                    {"model.safetensors", weights, weights_size}};
 *     rf_memory_folder_new(ctx, file, 3, &folder, &why);
 *     rf_pipeline_open(ctx, rf_memory_folder_path(folder), RF_F32, &p, &why);
 *
 * This is for programs that contain their model, and for language bindings that receive files as bytes. The caller
 * passes the files of a model folder with their names and receives a path. Calls with the same context accept this path
 * in place of a folder for pipelines, models, answerers, tokenizers, configs and weights. Nothing is written to it.
 * Error messages name files below the path.
 *
 * threads   any number of threads may use the folder; it is freed by one thread when no other thread is opening it */

typedef struct rf_memory_file {
    const char *name;           /* name in the folder, "config.json" or "1_Pooling/config.json"; copied */
    const void *data;           /* [size] bytes, valid until the folder and all models opened from it are closed */
    size_t size;
} rf_memory_file;

typedef struct rf_memory_folder rf_memory_folder;

/* Creates a folder of n files.
 *
 *   out        freed with rf_memory_folder_free; unchanged on error
 *   cost       the list of files only. When a model is opened, word embeddings are used in place if they are f32 or
 *              bf16 and aligned; all other weights are copied
 *   RF_EARG    no files; a file without a name or data; a duplicate name; a name that leads out of the folder ("/x",
 *              "a/../x")
 *   RF_ENOMEM  out of memory */
rf_status rf_memory_folder_new(const rf_ctx *ctx, const rf_memory_file file[], int64_t n, rf_memory_folder **out,
                               rf_error *why);

/* The path of the folder, valid for this context only. It belongs to the folder. */
const char *rf_memory_folder_path(const rf_memory_folder *f);

/* Free it after the models, tokenizers and pipelines that were opened from it, and before the context. NULL is
 * allowed. */
void rf_memory_folder_free(rf_memory_folder *f);

/* ---- the bytes of a file, which may be compressed with gzip or zstd ----
 *
 * Compression is detected from the first bytes, not from the name. Memory is bounded by the window of the format (zstd:
 * at most 128 MiB). Output beyond 64 MiB is limited to 1,000 times the input. To read documents, use rf_reader_open.
 *
 * threads   a source may be used by one thread at a time */

typedef struct rf_source rf_source;

/* Opens a file; "-" is standard input.
 *
 *   path             not copied: it must outlive the source
 *   out              closed with rf_source_close; unchanged on error
 *   RF_EIO           the file cannot be opened or read, or is a folder
 *   RF_EUNSUPPORTED  xz, bzip2, Parquet, a zip archive (a workbook of Excel is one)
 *   RF_EDATA         the name ends in .gz or .zst, but the content is not in that format; a pointer of Git LFS stands
 *                    in place of the file */
rf_status rf_source_open(const rf_ctx *ctx, const char *path, rf_source **out, rf_error *why);

/* Whether a file has to be read as a source: it begins with the bytes of gzip, zstd, xz, bzip2 or of a file that is
 * refused, or its name ends in .gz or .zst. 1: yes; 0: no, it is plain; -1: undecided, more bytes are needed.
 *
 *   name   of the file; may be NULL */
int rf_source_compressed(const char *name, const char *head, size_t size);

/* Opens a source on an open file of which `head` has already been read.
 *
 *   fd      belongs to the source from now on, also after a failure; standard input is not closed
 *   size    at most 128 KiB, else RF_EARG
 *   name    for messages; it must outlive the source */
rf_status rf_source_continue(const rf_ctx *ctx, int fd, const char *head, size_t size, const char *name,
                             rf_source **out, rf_error *why);
void rf_source_close(rf_source *s);                              /* NULL is allowed */

/* Reads up to `capacity` bytes as soon as some are available. *got is 0 only at the end.
 *
 *   RF_EDATA         damaged or truncated compression, or expansion of more than 1,000 times; the message names the
 *                    byte
 *   RF_EUNSUPPORTED  UTF-16; a zstd window above 128 MiB
 *   RF_EIO           the operating system could not read */
rf_status rf_source_read(rf_source *s, char *to, size_t capacity, size_t *got, rf_error *why);

/* Reports a text whose lines end with CR only, as on old Macs, which line readers would take for a single line. Call it
 * for a text that has no LF but has a CR that is not its last byte.
 *
 *   RF_EDATA   always; the message has the name and says how to convert such a file */
rf_status rf_source_no_lines(const char *name, rf_error *why);

/* Fails if the first bytes of a text are those of a two-byte encoding: a byte order mark, or a zero in every other
 * byte.
 *
 *   RF_EUNSUPPORTED   the message has the name and says how to convert such a file */
rf_status rf_source_wide(const char *name, const char *data, size_t size, rf_error *why);

/* ---- the documents of text files, one after the other, with bounded memory ----
 *
 * A file is plain text, JSON lines, FASTA, or WikiExtractor's `<doc ...>` ... `</doc>`. It may be compressed with gzip
 * or zstd, which is detected from its first bytes. "-" is standard input. Text is UTF-8, with or without BOM, with LF
 * or CRLF. Documents are returned as valid UTF-8 with LF; JSON strings are returned unchanged. Documents with only
 * white space are skipped.
 *
 *     rf_reader_open(ctx, paths, n, NULL, &r, &why);
 *     while (!(status = rf_reader_next(r, &d, &why)) && d.text) use(d.text, d.size);
 *     rf_reader_close(r);
 *
 * threads   a reader may be used by one thread at a time */

typedef enum rf_text_format {
    RF_TEXT_AUTO,               /* *.jsonl, *.ndjson (also .gz, .zst): JSON lines; *.fasta, *.fa, *.faa, *.fas (the
                                   same): FASTA; first line `<doc `: wiki; else plain */
    RF_TEXT_PLAIN,
    RF_TEXT_JSONL,              /* one object per line; its member `field` is the document */
    RF_TEXT_WIKI,               /* WikiExtractor; &lt; &gt; &amp; &quot; are decoded */
    RF_TEXT_FASTA               /* proteins: each record is a document, its lines joined; small letters become capital
                                   ones, and a '*' at the end is dropped */
} rf_text_format;

/* The format that RF_TEXT_AUTO selects by a file's name alone: RF_TEXT_JSONL, RF_TEXT_FASTA, or RF_TEXT_AUTO if the
 * contents decide. */
rf_text_format rf_text_format_of(const char *path);

/* What separates the documents in plain text. */
typedef enum rf_text_split {
    RF_SPLIT_BLANK,             /* blank lines */
    RF_SPLIT_LINE,              /* line ends: each line is a document */
    RF_SPLIT_HEADING,           /* lines " = Title = ", as in WikiText; blank lines are skipped */
    RF_SPLIT_FILE               /* nothing: each file is a document */
} rf_text_split;

typedef struct rf_reader_options {
    size_t size;                /* of this struct, set by rf_reader_defaults */
    rf_text_format format;      /* default RF_TEXT_AUTO */
    rf_text_split split;        /* default RF_SPLIT_BLANK */
    const char *field;          /* member with the text; NULL: "text" */
    int keep_titles;            /* 1: keep the titles of wiki documents and headings; default 0 */
    size_t max_document;        /* in bytes, 64 to 2^30; 0: 1 MiB. A longer document is split, if possible at the end
                                   of a line or word, and continues as the next document */
    int residues_apart;         /* FASTA: 1: a blank between two residues (RF_RESIDUES_APART); default 0 */
} rf_reader_options;
void rf_reader_options_init(rf_reader_options *o, size_t size);
#define rf_reader_defaults(o) rf_reader_options_init((o), sizeof *(o))
enum { RF_READER_OPTIONS_MOST = 128 };      /* maximum size in later versions, reserved in structs that contain it */

typedef struct rf_reader rf_reader;

/* A document, valid until the next call of its reader. */
typedef struct rf_document {
    const char *text;           /* not terminated by a zero; NULL: no more documents */
    size_t size;
    int file;                   /* index into `paths` */
    int64_t index;              /* number in its file, from 0; parts of a split document are counted separately */
    int continues;              /* 1: continues the previous document, which was split */
    const char *name;           /* FASTA: first word of the record's header; else "" */
} rf_document;

/* Opens the reader. Every file must exist; nothing is read yet.
 *
 *   options    NULL: the defaults
 *   out        closed with rf_reader_close; unchanged on error
 *   RF_EARG    no path; the options were not initialized; max_document is out of range; standard input is named twice
 *   RF_EIO     a file cannot be read or is a folder */
rf_status rf_reader_open(const rf_ctx *ctx, const char *const paths[], int n, const rf_reader_options *options,
                         rf_reader **out, rf_error *why);
void rf_reader_close(rf_reader *r);

/* Reads the next document; text is NULL after the last. After a failure, later calls return the same error.
 *
 *   RF_EDATA     the message names file and line, or file and byte of compressed data: invalid UTF-8; a line that is
 *                not JSON or lacks the field; truncated or damaged compression; data that expands more than 1000 times;
 *                a file whose size changed since rf_reader_open; FASTA: residues before the first header, a record
 *                without residues, '*' within a record, other characters than letters, '-', '.' and '*'
 *   RF_EUNSUPPORTED  xz, bzip2, UTF-16, or a zstd window above 128 MiB
 *   RF_EIO           the operating system could not read */
rf_status rf_reader_next(rf_reader *r, rf_document *out, rf_error *why);

/* Fraction of the bytes of all files that has been read, 0 to 1; negative if standard input or a pipe is among them. */
double rf_reader_share(const rf_reader *r);

/* ---- files of vectors ----
 *
 * The headers before the rows, which other programs read; they return their size in bytes. Any number of threads.
 *
 *     npy     NumPy (NEP 1, version 1.0): magic, length of the rest, a Python dictionary, blanks, a line feed
 *     faiss   "IxFI" or "IxF2" | columns int32 | rows int64 | 2^20 int64, twice | trained uint8 = 1 | metric int32 |
 *             rows columns uint64                                   (an IndexFlat in faiss/impl/index_write.cpp)
 *
 *   type     of an element, as NumPy names it: "<f4"
 *   columns  npy: 0: rows are single elements
 *   l2       1: vectors are compared by their distance (IndexFlatL2); 0: by their product (IndexFlatIP) */
enum { RF_NPY_HEAD = 128, RF_FAISS_HEAD = 45 };
size_t rf_npy_head(const char *type, int64_t rows, int64_t columns, char out[RF_NPY_HEAD]);
size_t rf_faiss_head(int64_t rows, int64_t columns, int l2, char out[RF_FAISS_HEAD]);

#ifdef __cplusplus
}
#endif
#endif
