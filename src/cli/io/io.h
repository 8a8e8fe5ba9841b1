/* io.h — shared by the commands: input lines, output, messages on standard error, signals, exit codes.
 *
 * Data goes to standard output, and every write is checked.  Messages (progress, notes, errors) go to standard error; a
 * failure to write them does not fail a command.
 *
 *     0 done   1 failure   2 usage   3 bad data   4 input or output   5 memory   6 not finite   75 later
 *     128 + n  ended by signal n (130 Ctrl-C, 141 the reader of the output has closed it, 143 terminated)            */
#ifndef CLI_IO_H
#define CLI_IO_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/io/json.h"
#include "cli/options/options.h"
#include "cli/io/path.h"
#include "roformer/context.h"
#include "roformer/pipeline.h"

enum {
    CLI_DONE = 0,
    CLI_FAILURE = 1,
    CLI_USAGE = 2,
    CLI_DATA = 3,
    CLI_IO = 4,
    CLI_MEMORY = 5,
    CLI_NUMERIC = 6,
    CLI_LATER = 75
};

struct cli_io {
    rf_ctx *ctx;
    const cli_parsed *parsed;
    const char *program;        /* argv[0]                                                                            */
    int quiet;
    int color_out, color_err;   /* colors on standard output, on standard error                                       */
    rf_error why;               /* errors of calls inside commands                                                    */
};

/* Prints io->why, if it has an error, and returns the corresponding exit code. */
int cli_exit(cli_io *io);
int cli_exit_code(rf_status status);
void cli_error(const char *format, ...) RF_PRINTF(1, 2);                /* "roformer: ..." on standard error          */
void cli_note(const cli_io *io, const char *format, ...) RF_PRINTF(2, 3);       /* the same, unless --quiet           */


/* Information for the user about the rung in use. */
void cli_note_rung(const cli_io *io);

/* Joins the name of an input and an error: "standard input:7: ..." */
rf_status cli_at_line(rf_error *why, const char *file, uint64_t line, const rf_error *inner);

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct cli_lines {
    const rf_ctx *ctx;
    int fd;
    struct rf_source *source;   /* the decompressor; NULL: the file is not compressed, or nothing has been read yet */
    bool plain;
    const char *name;           /* for messages                                                                       */
    char *buffer;
    size_t capacity, from, to;
    uint64_t number;            /* of the line returned last, from 1, or from the place that cli_lines_go went to     */
    uint64_t base;              /* byte of the text at which the buffer begins                                        */
    uint64_t begun;             /* where cli_lines_go went                                                            */
    bool ended;
    bool marked;                /* a byte-order mark preceded that line                                               */
    bool returned;              /* that line ended with CR LF                                                         */
} cli_lines;

/* "-" is standard input.  gzip and zstd are detected by their first bytes, unless ctx is NULL; any other file that is
 * named .gz or .zst is refused.  RF_EIO if it cannot be read. */
rf_status cli_lines_open(const rf_ctx *ctx, cli_lines *l, const char *path, rf_error *why);
/* *line is valid until the next call; NULL at the end or if a signal requested a stop.  It has no "\n" or "\r\n", and
 * the first one no byte-order mark.  RF_EDATA if a line is not UTF-8 or is longer than CLI_LINE_MAX. */
enum { CLI_LINE_MAX = 64 << 20 };
rf_status cli_lines_next(cli_lines *l, const char **line, size_t *size, rf_error *why);
void cli_lines_close(cli_lines *l);
bool cli_lines_ready(const cli_lines *l);       /* input is available: the next call will hardly wait                 */

/* The byte of the (uncompressed) text at which the next line begins, and continuing at such a byte.  A compressed file
 * is unpacked up to there, so the place must not be before the next line.  RF_EDATA if the file ends before it. */
uint64_t cli_lines_at(const cli_lines *l);
rf_status cli_lines_go(cli_lines *l, uint64_t at, rf_error *why);
/* The number in the file of a line that had this `number`, for messages: after cli_lines_go, reads the file up to
 * there. */
uint64_t cli_lines_number(const cli_lines *l, uint64_t number);

/* The texts of a command: its operands, or the lines of standard input if there are none. */
typedef struct cli_texts {
    const cli_list *operands;
    int next;
    cli_lines lines;
    bool from_lines;
} cli_texts;
rf_status cli_texts_open(const rf_ctx *ctx, cli_texts *t, const cli_list *operands, rf_error *why);
rf_status cli_texts_next(cli_texts *t, const char **text, size_t *size, rf_error *why);
bool cli_texts_ready(const cli_texts *t);       /* the next text is available                                         */
void cli_texts_close(cli_texts *t);
uint64_t cli_texts_number(const cli_texts *t);  /* of the text returned last, from 1 */
/* `inner`, preceded by the number of its text if texts are lines or several. */
rf_status cli_texts_fail(const cli_texts *t, uint64_t number, rf_error *why, const rf_error *inner);

/* Texts that are processed together: copies, each terminated by a zero. */
typedef struct cli_window {
    char *bytes;
    size_t used, capacity;
    size_t *size;               /* [n]                                                                                */
    const char **text;          /* [n], after cli_window_texts                                                        */
    int64_t n;
    size_t texts;               /* capacity of size and text                                                          */
} cli_window;
rf_status cli_window_add(cli_window *w, const char *text, size_t size, rf_error *why);
const char *const *cli_window_texts(cli_window *w);                     /* valid until a text is added */
void cli_window_empty(cli_window *w);
void cli_window_clear(cli_window *w);

/* Processes texts in windows of at most CLI_WINDOW, and of fewer if the next text is not available yet.  *first is the
 * number of the window's first text.  Texts before a line that cannot be read are still processed. */
enum { CLI_WINDOW = 4096 };
rf_status cli_window_run(cli_io *io, const cli_list *operands, cli_window *w, uint64_t *first,
                         rf_status (*answer)(void *user, const cli_texts *in), void *user);

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* A file that appears completely or not at all; standard output ("-" or NULL), pipes and devices are written
 * directly. */
typedef struct cli_out {
    int fd;
    char *path, *temporary;     /* temporary: NULL if written in place                                                */
    char *buffer;
    size_t used;
    uint64_t written;           /* bytes so far, including buffered ones                                              */
    int64_t begin;              /* start offset in the file, -1: not seekable                                         */
    bool terminal;              /* a terminal, which gets no control characters                                       */
} cli_out;
rf_status cli_out_open(cli_out *o, const char *path, rf_error *why);
rf_status cli_out_write(cli_out *o, const void *data, size_t size, rf_error *why);
rf_status cli_out_flush(cli_out *o, rf_error *why);
rf_status cli_out_patch(cli_out *o, uint64_t at, const void *data, size_t size, rf_error *why);   /* RF_EIO on a pipe */
bool cli_out_seekable(const cli_out *o);
const char *cli_temporary_place(void);                  /* a folder: $TMPDIR, otherwise the system's, as /tmp */
/* A file without a name there, removed when closed; and copying all of it to another output. */
rf_status cli_out_spool(cli_out *o, rf_error *why);
rf_status cli_out_copy(cli_out *to, cli_out *spool, rf_error *why);
rf_status cli_out_commit(cli_out *o, rf_error *why);
void cli_out_discard(cli_out *o);                                       /* after a failure; allowed after commit      */

/* The target of a symbolic link, through any number of links and even if the last file does not exist: writing to it
 * keeps the link.  To be freed; NULL: no memory. */
char *cli_target(const char *path);
/* RF_EARG if both are the same file, which the output would overwrite.  "-" is standard input, which may be a file, or
 * no output; NULL is no file. */
rf_status cli_not_input(const char *output, const char *input, rf_error *why);

/* Flushes standard output; RF_EIO with the reason.  If the reader has closed it, the program ends with 141, without a
 * message. */
rf_status cli_flush(rf_error *why);

/* Prints one line of JSON; floats have the 9 digits that represent an f32 exactly.  Frees `value`. */
rf_status cli_print_json(json_t *value, size_t flags, rf_error *why);

/* A list of names in a message: whole names, then "and N more" if not all fit. */
typedef struct cli_names { char text[400]; size_t used; int64_t n, more; } cli_names;
void cli_names_add(cli_names *names, const char *name);
const char *cli_names_text(cli_names *names);

/* ---- signals ----------------------------------------------------------------------------------------------------- */

void cli_signals_init(void);                /* SIGBUS in a mapped file: message and exit 4                            */
void cli_signals_catch(void);               /* SIGINT, SIGTERM, SIGHUP: first recorded, second ends the program */
void cli_signals_catch_save(void);          /* SIGUSR1 requests a checkpoint                                          */
int cli_save_asked(void);                   /* whether it arrived since the last call                                 */
int cli_stopped(void);                      /* the signal that requested a stop, or 0                                 */

/* A temporary file, which a signal that ends the program removes, even one that the command does not handle.  `path`
 * must be valid until cli_complete, which is called when the file has its final name or has been removed. */
void cli_incomplete(const char *path);
void cli_complete(const char *path);
_Noreturn void cli_end(int code);           /* _exit, after removing such files                                       */

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* The shipped dictionary of Chinese words; false: there is none. */
bool cli_dictionary(char *out, size_t size);
/* --config FILE, for a new model: unknown keys are reported.  Errors are in io->why. */
rf_status cli_new_config(cli_io *io, const char *path, rf_config *c);
/* -m, otherwise $ROFORMER_MODEL (the option's env), otherwise the shipped model.  RF_EARG if there is none.  A path
 * that does not exist may begin with ~, or be the name of a model in the cache of Hugging Face's libraries (hub.h). */
rf_status cli_model_folder(const char *given, char *out, size_t size, rf_error *why);
/* The same for vectors of texts: the shipped sentence model has priority over the shipped model. */
rf_status cli_sentence_folder(const char *given, char *out, size_t size, rf_error *why);
/* A path that need not exist; ~ is the home folder unless there is a file of this name. */
rf_status cli_new_path(const char *given, char *out, size_t size, rf_error *why);
bool cli_chinese_folder(char *out, size_t size);        /* the shipped Chinese model; false: there is none          */
/* The model for requests without a name: for the task "embed" the sentence model. */
rf_status cli_task_folder(const char *given, const char *task, char *out, size_t size, rf_error *why);
/* The name of a model: the last part of its path; NULL if it is not UTF-8. */
const char *cli_sentence_name(const char *given, char *out, size_t size);
/* The last part of the path that was given, also if it is a link; of "." or "..", that of the whole path. */
void cli_model_name(const char *given, char *out, size_t size);
/* Prints a note if a vocabulary has far fewer tokens than the model has rows. */
void cli_note_vocabulary(const cli_io *io, const char *folder, const rf_model *m);
void cli_note_vocabulary_in(const cli_io *io, const char *folder);     /* of a folder with weights that is not open   */
/* Errors are in io->why. */
rf_status cli_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out);
rf_status cli_sentence_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out);
/* The same with a session; closing what was never opened is allowed. */
typedef struct cli_model {
    rf_pipeline *pipeline;
    const rf_model *model;
    rf_session *session;
    const rf_config *config;
    const rf_tokenizer *t;
} cli_model;
rf_status cli_model_open(cli_io *io, const char *given, rf_type type, cli_model *m);
void cli_model_close(cli_model *m);

/* ---- progress ---------------------------------------------------------------------------------------------------- */

typedef struct cli_progress {
    bool live;                  /* a terminal: the line is redrawn                                                    */
    bool silent;
    bool color;
    bool drawn;
    double begun, last, interval;
} cli_progress;
void cli_progress_init(cli_progress *p, const cli_io *io, double interval);
/* Draws "label [#####    ] 52 %  text" on a terminal at most ten times a second; elsewhere prints a line every
 * `interval` s. */
void cli_progress_show(cli_progress *p, const char *label, double share, const char *text);
void cli_progress_line(cli_progress *p, const char *text);              /* a permanent line above the bar             */
void cli_progress_clear(cli_progress *p);
double cli_progress_seconds(const cli_progress *p);
/* "2.3026"; from 10^9 on "1.365e+12"; "nan" without a sign, "inf", "-inf". */
typedef struct cli_number { char text[32]; } cli_number;
cli_number cli_fixed(double x, int digits);

void cli_loss(double loss, char *out, size_t size);                     /* "2.3026"; "-" if nothing was predicted     */
double cli_seconds(void);                               /* of a monotonic clock                               */
void cli_duration(double seconds, char *out, size_t size);              /* "4:05", "1:02:33"                          */
void cli_count(double n, char *out, size_t size);                       /* "12.3k", "4.56M"                           */
int cli_terminal_width(int fd);

/* A growing text, freed with free(at).  false: no memory, or (print) not written; print frees it. json: the dump of a
 * value, which is freed. */
typedef struct cli_text { char *at; size_t n, capacity; } cli_text;
bool cli_text_add(cli_text *t, const char *text, size_t n);
bool cli_text_add_json(cli_text *t, json_t *value, size_t flags);
bool cli_text_print(cli_text *t);

/* Writes a file that appears complete; json: a value (NULL: no memory) and a line feed.  Frees `value`. */
rf_status cli_write_file(const char *path, const void *data, size_t size, rf_error *why);
rf_status cli_write_json(const char *path, json_t *value, size_t flags, rf_error *why);

rf_status cli_no_memory(cli_io *io);                    /* RF_ENOMEM, in io->why                              */

/* Prints a text of a file, of the user or of a model on standard output.  On a terminal each control character is
 * replaced by '?', because terminals interpret escape sequences; tabs and line ends are kept.  false: not written. */
bool cli_put_text(const char *text, size_t size);
void cli_put_name(const char *name);
/* Length of the prefix of a text without characters that a terminal interprets, and length of the control character
 * after it, 0 at the end.  `lines`: tabs and line ends are text. */
size_t cli_shown(const char *text, size_t size, bool lines, size_t *control);

/* Number of cells that a text takes on a terminal. */
int cli_cells(const char *text);
/* Prints a token of a vocabulary, which is an untrusted file: '?' replaces control characters, so that a terminal gets
 * no escape sequence. Returns the number of cells; `out` may be NULL, to count only. */
int cli_put_token(FILE *out, const char *token);

/* A bar of eighths, `width` cells wide, in UTF-8 (or '#' if the locale is not UTF-8). */
void cli_bar(double share, int width, char *out, size_t size);

#endif
