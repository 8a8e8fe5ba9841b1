/* io.h — what the commands share: lines in, data out, talk on standard error, signals, exit codes.
 *
 * Data goes to standard output and is checked to the last byte; talk (progress, notes, errors) goes to standard error
 * and never fails a command.
 *
 *     0 done   1 failure   2 usage   3 bad data   4 input or output   5 memory   6 not finite   75 later
 *     128 + n  ended by signal n (130 Ctrl-C, 141 the reader of our output went away, 143 terminated)                */
#ifndef CLI_IO_H
#define CLI_IO_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/shell/json.h"
#include "cli/shell/options.h"
#include "cli/shell/path.h"
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
    int color_out, color_err;   /* colours on standard output, on standard error                                      */
    rf_error why;               /* where commands let calls leave their failure                                       */
};

/* Prints io->why, if it holds a failure, and returns the exit code that belongs to it. */
int cli_exit(cli_io *io);
int cli_exit_code(rf_status status);
void cli_error(const char *format, ...) RF_PRINTF(1, 2);                /* "roformer: ..." on standard error          */
void cli_note(const cli_io *io, const char *format, ...) RF_PRINTF(2, 3);       /* the same, unless --quiet           */


/* What the user should know of the rung that computes. */
void cli_note_rung(const cli_io *io);

/* Joins the name of a place and a failure: "standard input: line 7: ..." */
rf_status cli_at_line(rf_error *why, const char *file, uint64_t line, const rf_error *inner);

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct cli_lines {
    const rf_ctx *ctx;
    int fd;
    struct rf_source *source;   /* what takes the compression off; NULL: the file is plain, or nothing is read yet */
    bool plain;
    const char *name;           /* for messages                                                                       */
    char *buffer;
    size_t capacity, from, to;
    uint64_t number;            /* of the line that was returned last, from 1                                         */
    bool ended;
    bool marked;                /* a byte-order mark stood before that line                                           */
} cli_lines;

/* "-" is standard input.  gzip and zstd are known by their first bytes; with ctx NULL they are not.  RF_EIO when it
 * cannot be read. */
rf_status cli_lines_open(const rf_ctx *ctx, cli_lines *l, const char *path, rf_error *why);
/* *line is lent until the next call, NULL at the end or when a signal asked to stop.  Without "\n" or "\r\n", and
 * the first one without a byte-order mark.  RF_EDATA when a line is not UTF-8 or longer than CLI_LINE_MAX. */
enum { CLI_LINE_MAX = 64 << 20 };
rf_status cli_lines_next(cli_lines *l, const char **line, size_t *size, rf_error *why);
void cli_lines_close(cli_lines *l);
bool cli_lines_ready(const cli_lines *l);       /* something is here already: the next call will hardly wait          */

/* Texts of a command: its operands, or the lines of standard input when there are none. */
typedef struct cli_texts {
    const cli_list *operands;
    int next;
    cli_lines lines;
    bool from_lines;
} cli_texts;
rf_status cli_texts_open(const rf_ctx *ctx, cli_texts *t, const cli_list *operands, rf_error *why);
rf_status cli_texts_next(cli_texts *t, const char **text, size_t *size, rf_error *why);
bool cli_texts_ready(const cli_texts *t);       /* the next text is here already                                      */
void cli_texts_close(cli_texts *t);
uint64_t cli_texts_number(const cli_texts *t);  /* of the text that was returned last, from 1 */
/* `inner` with the number of its text before it, when texts are lines or several. */
rf_status cli_texts_fail(const cli_texts *t, uint64_t number, rf_error *why, const rf_error *inner);

/* Texts that are asked together: copies, each with a zero behind it. */
typedef struct cli_window {
    char *bytes;
    size_t used, capacity;
    size_t *size;               /* [n]                                                                                */
    const char **text;          /* [n], after cli_window_texts                                                        */
    int64_t n;
    size_t texts;               /* capacity of size and text                                                          */
} cli_window;
rf_status cli_window_add(cli_window *w, const char *text, size_t size, rf_error *why);
const char *const *cli_window_texts(cli_window *w);                     /* they hold until a text is added */
void cli_window_empty(cli_window *w);
void cli_window_clear(cli_window *w);

/* Answers texts in windows of at most CLI_WINDOW, and of fewer where the next text is not here yet.  *first is the
 * number of a window's first text.  Texts before a line that cannot be read are still answered. */
enum { CLI_WINDOW = 4096 };
rf_status cli_window_run(cli_io *io, const cli_list *operands, cli_window *w, uint64_t *first,
                         rf_status (*answer)(void *user, const cli_texts *in), void *user);

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* A file that appears whole or not at all; standard output ("-" or NULL), pipes and devices are written as they
 * come. */
typedef struct cli_out {
    int fd;
    char *path, *temporary;     /* temporary: NULL when written in place                                              */
    char *buffer;
    size_t used;
    uint64_t written;           /* bytes so far, buffered ones included                                               */
    int64_t begin;              /* where in the file we began, -1: cannot go back                                     */
    bool terminal;              /* which gets no control characters                                                   */
} cli_out;
rf_status cli_out_open(cli_out *o, const char *path, rf_error *why);
rf_status cli_out_write(cli_out *o, const void *data, size_t size, rf_error *why);
rf_status cli_out_flush(cli_out *o, rf_error *why);
rf_status cli_out_patch(cli_out *o, uint64_t at, const void *data, size_t size, rf_error *why);   /* RF_EIO on a pipe */
bool cli_out_seekable(const cli_out *o);
/* A file without a name in $TMPDIR or /tmp, gone when closed; and all of it into another output. */
rf_status cli_out_spool(cli_out *o, rf_error *why);
rf_status cli_out_copy(cli_out *to, cli_out *spool, rf_error *why);
rf_status cli_out_commit(cli_out *o, rf_error *why);
void cli_out_discard(cli_out *o);                                       /* after a failure; fine after commit         */

/* Where a symbolic link leads, however many there are and whether or not the last file exists: what is written there
 * leaves the link.  To be freed; NULL: no memory. */
char *cli_target(const char *path);
/* RF_EARG when both are one file: the output would take the input's place.  "-" is standard input, which may be a file,
 * or no output; NULL is no file. */
rf_status cli_not_input(const char *output, const char *input, rf_error *why);

/* Flushes standard output; RF_EIO with the reason.  A reader that went away ends the program with 141, in silence. */
rf_status cli_flush(rf_error *why);

/* One line of JSON on standard output; floats with the 9 digits that bring an f32 back.  Takes `value`. */
rf_status cli_print_json(json_t *value, size_t flags, rf_error *why);
_Noreturn void cli_pipe_closed(void);                                   /* _exits with 141                            */

/* ---- signals ----------------------------------------------------------------------------------------------------- */

void cli_signals_init(void);            /* SIGPIPE, SIGXFSZ to errno, SIGBUS in a mapped file to a message and exit 4 */
void cli_signals_catch(void);               /* SIGINT, SIGTERM, SIGHUP: the first is remembered, the second ends      */
void cli_signals_catch_save(void);          /* SIGUSR1 asks for a checkpoint                                          */
int cli_save_asked(void);                   /* whether it has come since the last call                                */
int cli_stopped(void);                      /* the signal that asked to stop, or 0                                    */

/* A temporary file that lies under this name until it is complete: a signal that ends the program removes it, also one
 * that the command does not catch.  `path` must last until cli_complete, which is called when the file has its own name
 * or is gone. */
void cli_incomplete(const char *path);
void cli_complete(const char *path);
_Noreturn void cli_end(int code);           /* _exit, without such files                                              */

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* The dictionary of Chinese words that comes with the program; false: none does. */
bool cli_dictionary(char *out, size_t size);
/* --config FILE, for a new model: keys that nothing reads are noted.  A failure lies in io->why. */
rf_status cli_new_config(cli_io *io, const char *path, rf_config *c);
/* -m, else $ROFORMER_MODEL (the option's env), else the shipped model.  RF_EARG when there is none. */
rf_status cli_model_folder(const char *given, char *out, size_t size, rf_error *why);
/* The same for vectors of texts: before the shipped model comes the shipped one for sentences. */
rf_status cli_sentence_folder(const char *given, char *out, size_t size, rf_error *why);
/* The one that is asked without a name: of task "embed" the model for sentences. */
rf_status cli_task_folder(const char *given, const char *task, char *out, size_t size, rf_error *why);
/* What people call that: the last part of its path; NULL when it is not UTF-8. */
const char *cli_sentence_name(const char *given, char *out, size_t size);
/* Says so when a vocabulary has far fewer tokens than the model has rows. */
void cli_note_vocabulary(const cli_io *io, const char *folder, const rf_model *m);
void cli_note_vocabulary_in(const cli_io *io, const char *folder);     /* of a folder with weights, not open here     */
/* A failure lies in io->why. */
rf_status cli_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out);
rf_status cli_sentence_pipeline_open(cli_io *io, const char *given, rf_type type, rf_pipeline **out);
/* The same with what commands ask it for; closing what was never opened is fine. */
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
    bool live;                  /* a terminal: the line is drawn again and again                                      */
    bool silent;
    bool color;
    bool drawn;
    double begun, last, interval;
} cli_progress;
void cli_progress_init(cli_progress *p, const cli_io *io, double interval);
/* Draws "label [#####    ] 52 %  text" on a terminal at most ten times a second; elsewhere a line each `interval` s. */
void cli_progress_show(cli_progress *p, const char *label, double share, const char *text);
void cli_progress_line(cli_progress *p, const char *text);              /* a line that stays, above the bar           */
void cli_progress_clear(cli_progress *p);
double cli_progress_seconds(const cli_progress *p);
/* "2.3026"; of 10^9 and more "1.365e+12"; "nan" without a sign, "inf", "-inf". */
typedef struct cli_number { char text[32]; } cli_number;
cli_number cli_fixed(double x, int digits);

void cli_loss(double loss, char *out, size_t size);                     /* "2.3026"; "-" when nothing was predicted   */
double cli_seconds(void);                               /* of a clock that never goes back                    */
void cli_duration(double seconds, char *out, size_t size);              /* "4:05", "1:02:33"                          */
void cli_count(double n, char *out, size_t size);                       /* "12.3k", "4.56M"                           */
int cli_terminal_width(int fd);

/* A text that grows, freed with free(at).  false: no memory, or (print) not written; what is printed is gone.
 * json: its dump; the value is given back. */
typedef struct cli_text { char *at; size_t n, capacity; } cli_text;
bool cli_text_add(cli_text *t, const char *text, size_t n);
bool cli_text_add_json(cli_text *t, json_t *value, size_t flags);
bool cli_text_print(cli_text *t);

rf_status cli_no_memory(cli_io *io);                    /* RF_ENOMEM, in io->why                              */

/* A text of a file, of the user or of a model on standard output: as it is, but '?' for each control character where
 * that is a terminal, which would take escape sequences for orders; tabs and ends of lines stay.  false: not
 * written. */
bool cli_put_text(const char *text, size_t size);
void cli_put_name(const char *name);
/* Bytes at the beginning of a text that do nothing but show on a terminal, and bytes of the control character behind
 * them, 0 at the end.  `lines`: tabs and ends of lines are text. */
size_t cli_shown(const char *text, size_t size, bool lines, size_t *control);

/* Cells that a text takes on a terminal. */
int cli_cells(const char *text);
/* A token of a vocabulary, which is a file of anyone's: '?' stands for control characters, so that a terminal gets no
 * escape sequence. Returns the cells that it takes; `out` may be NULL, to count alone. */
int cli_put_token(FILE *out, const char *token);

/* A bar of eighths, `width` cells wide, in UTF-8 (or '#' when the locale is not). */
void cli_bar(double share, int width, char *out, size_t size);

#endif
