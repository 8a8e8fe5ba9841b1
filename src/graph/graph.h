/* graph.h — internal: the tape and the functions that operations share.
 *
 *     rf__linear(g, x, w, b, act)          checks shapes, describes the call in a node, and passes it to rf__call
 *       rf__call(g, RF_OP(linear), y, ...)  runs the node on the graph's backend (`dry`), times it, and records it
 *     [node] -> [node] -> [node]          newest first; rf__backward walks it
 *       |out, in[], saved                 saved: the operation's own struct, in the arena
 *
 * Backends.  The CPU's runs each operation's `run` and `back`, the functions of its file.  The dry one calls the same
 * functions, but tensors have sizes without memory, and no work is done: rf__spans, rf__each and rf__graph_gemm
 * return at once.  So memory and arithmetic of any step are counted by the code that needs them.  Whatever reads or
 * writes values directly asks rf__computes first.
 *
 * Adjoints.  Every adjoint buffer has one owner, the tensor whose `grad` points at it.  A backward function may take
 * its output's buffer (rf__dy) and pass it to one input.  A buffer that is not taken returns to the pool when the node
 * is done, and the next layer's adjoints reuse it.  Buffers are not zeroed before accumulation: the first adjoint of a
 * tensor is adopted, later ones are added. */
#ifndef RF_GRAPH_H
#define RF_GRAPH_H

#include "base/base.h"
#include "kernel/acts.h"
#include "roformer/context.h"
#include "roformer/kernel/kernels.h"
#include "graph/tensor.h"

typedef enum rf_op_id {
#define RFO(name, equation, each) RF_OP_##name,
#include "graph/ops.def"
#undef RFO
    RF_OP_COUNT
} rf_op_id;

typedef struct rf_node rf_node;
typedef void rf_op_body(rf_graph *g, rf_node *n);
typedef struct rf_op {
    const char *name, *equation;
    rf_op_body *run;                    /* computes the values of out; may complete `saved`                           */
    rf_op_body *back;                   /* from the adjoint of out: those of in; NULL: only forward                   */
    int each;                           /* arithmetic for an element of out besides products                          */
} rf_op;
extern const rf_op rf__ops[RF_OP_COUNT];
#define RF_OP(name) (&rf__ops[RF_OP_##name])

#define RFO(name, equation, each) rf_op_body rf__##name##_run, rf__##name##_back;
#include "graph/ops.def"
#undef RFO

enum { RF_INPUTS = 8 };
struct rf_node {
    rf_node *older;
    const rf_op *op;
    rf_tensor *out, *in[RF_INPUTS];     /* NULL for an omitted input                                                  */
    void *saved;
};

/* A tensor as the arena stores it.  `at` is the fill of the arena when it was made; it shows whether the tensor is
 * older than a mark. */
typedef struct rf_cell {
    rf_tensor t;
    size_t at;
    bool borrowed;                      /* the caller owns the values                                                 */
    bool needed;                        /* the backward pass of a recorded operation reads the values                 */
    bool spent;                         /* the next operation may reuse the memory of the values                      */
    rf_node *oldest;                    /* of a parameter: its first use, the last one that adds to its gradient      */
} rf_cell;

/* Called during rf__backward, in its thread, when these n floats of a gradient are final.  A gradient that a recomputed
 * part shares with others is reported after each of them; the last report counts. */
typedef void rf_ready(void *user, const float *grad, int64_t n);

typedef struct rf_spare rf_spare;       /* a returned buffer, in the pool                                             */

struct rf_graph {
    const rf_ctx *ctx;
    const rfk_table *k;
    rf_arena arena;
    rf_cell nil;
    rf_error error;                     /* the first failure                                                          */
    const rf_cancel *cancel;            /* a flag that is read before a tensor is allocated; or NULL                  */
    bool dry;                           /* the dry backend                                                            */
    bool record, walked;
    bool train;                         /* dropout is active: recording, or a part that is recorded later */
    rf_type products;                   /* type in which linear, attention and vocab_loss multiply                    */
    double smoothing;                   /* of labels, while `train`                                                   */
    rf_key key;                         /* dropout: of (seed, step)                                                   */
    uint32_t drops;                     /* number of dropouts so far in this step                                     */
    double flops;                       /* of products and attention so far                                           */
    double others, moved;               /* forward: other arithmetic; bytes of inputs, except parameters, and results */
    int losses;                         /* recorded operations that have computed their gradients already             */
    rf_node *last;
    rf_spare *spare;
    rf_arena notes;                     /* dry: headers of the pool                                                   */
    rf_ready *ready;                    /* called when a parameter's gradient is final; or NULL                       */
    void *ready_user;
};

/* ---- failing ---------------------------------------------------------------------------------------------------- */

/* Keeps the first failure; returns nil. */
rf_tensor *rf__stop(rf_graph *g, rf_status status, const char *format, ...) RF_PRINTF(3, 4);

/* Returns true if `x` exists, has values, and has this rank (0: any).  Otherwise the graph fails with a message. */
bool rf__expect_rank(rf_graph *g, const char *op, const char *what, const rf_tensor *x, int rank);

/* Returns true if the vector is NULL or has n elements. */
bool rf__expect_vector(rf_graph *g, const char *op, const char *what, const rf_tensor *x, int64_t n);

/* Checks the starts of B sequences, stored one after another in N tokens, each of at least `least` tokens. The graph
 * fails with RF_EARG: no starts; RF_ESHAPE: they decrease, or do not end at N. */
bool rf__expect_starts(rf_graph *g, const char *op, const int32_t start[], int64_t B, int64_t N, int64_t least);

/* The only macros that contain a return: they return nil if the graph has failed or the condition is false. */
#define RF_NEED(g, condition, status, ...)                              \
    do {                                                                \
        if ((g)->error.code) return &(g)->nil.t;                        \
        if (!(condition)) return rf__stop((g), (status), __VA_ARGS__);  \
    } while (0)
#define RF_EXPECT(g, op, x, rank)                                         \
    do {                                                                \
        if (!rf__expect_rank((g), (op), #x, (x), (rank))) return &(g)->nil.t;  \
    } while (0)

#define RF_VECTOR(g, op, x, n)                                          \
    do {                                                                \
        if (!rf__expect_vector((g), (op), #x, (x), (n))) return &(g)->nil.t; \
    } while (0)

#define RF_STARTS(g, op, start, B, N, least)                                                    \
    do {                                                                                        \
        if (!rf__expect_starts((g), (op), (start), (B), (N), (least))) return &(g)->nil.t;        \
    } while (0)

/* The inputs of an operation as the two arguments (array, count). */
#define RF_IN(...) (rf_tensor *[]){__VA_ARGS__}, (int)(sizeof((rf_tensor *[]){__VA_ARGS__}) / sizeof(rf_tensor *))

/* ---- memory: NULL or nil when there is none, and then the graph has stopped -------------------------------------- */

static inline int64_t rf__size(const rf_tensor *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++) n *= x->dim[i];
    return n;
}

/* What describes a call: indices, statistics that the host reads. Valid until reset. */
void *rf__push(rf_graph *g, size_t count, size_t size);

/* Values: in a dry graph an address without memory. */
void *rf__values(rf_graph *g, size_t count, size_t size);
static inline bool rf__computes(const rf_graph *g) { return !g->dry && !g->error.code; }

void *rf__copy(rf_graph *g, const void *from, size_t count, size_t size);

/* An array of the caller that describes the call or, if the backward pass will read it, a copy; the same of values. */
const void *rf__for_back(rf_graph *g, bool track, const void *from, size_t count, size_t size);
const float *rf__values_for_back(rf_graph *g, bool track, const float *from, int64_t n);
rf_tensor *rf__new(rf_graph *g, int rank, const int64_t dim[]);         /* values not set                             */
rf_tensor *rf__like(rf_graph *g, const rf_tensor *x);

/* Temporary buffers of a step: from the pool if it has one of this size. */
float *rf__floats(rf_graph *g, int64_t n);
void rf__free_last(rf_graph *g, float *buffer, int64_t n);

/* Scratch of one operation: frees everything that was pushed since the mark. */
static inline rf_mark rf__scratch(const rf_graph *g) { return rf__arena_mark(&g->arena); }
static inline void rf__scratch_end(rf_graph *g, rf_mark mark) { rf__arena_release(&g->arena, mark); }

/* ---- the tape --------------------------------------------------------------------------------------------------- */

/* Returns true when recording if an input (NULL allowed) needs a gradient. */
bool rf__tracked(const rf_graph *g, rf_tensor *const in[], int n);

/* Runs the call of an operation that computes `out` from in[n] as `saved` says, and records it if rf__tracked.
 * Returns out, or nil if the graph has failed. */
rf_tensor *rf__call(rf_graph *g, const rf_op *op, rf_tensor *out, rf_tensor *const in[], int n, void *saved,
                   size_t size);

/* Takes over the output's adjoint: the backward function owns the buffer and may change it. */
float *rf__dy(rf_node *n);

/* dLoss/dx += dx.  Passes ownership of the buffer (new or taken, of x's size).  If x is not tracked, it only frees the
 * buffer. */
void rf__adjoint(rf_graph *g, rf_tensor *x, float *dx);

/* The same from a buffer that keeps its owner. */
void rf__adjoint_copy(rf_graph *g, rf_tensor *x, const float *dx);

/* The buffer of dLoss/dx for accumulation in place.  beta is 1, or 0 if the buffer is new and not initialized. */
float *rf__adjoint_here(rf_graph *g, rf_tensor *x, float *beta);
float *rf__adjoint_sum(rf_graph *g, rf_tensor *x);                       /* the same, zeroed instead of beta 0        */

/* The backward pass reads the values of x, or of an output: rf__spend has no effect from now on. */
static inline void rf__needed(rf_tensor *x) { ((rf_cell *)(void *)x)->needed = true; }
static inline bool rf__spent(const rf_tensor *x) { return x->f32 && ((const rf_cell *)(const void *)x)->spent; }

/* NULL: no callback.  rf__graph_reset keeps it. */
static inline void rf__graph_ready(rf_graph *g, rf_ready *ready, void *user)
{
    g->ready = ready;
    g->ready_user = user;
}

/* NULL: no callback.  rf__graph_reset keeps it. */
static inline void rf__graph_cancel(rf_graph *g, const rf_cancel *cancel) { g->cancel = cancel; }

/* From the newest node to the oldest, starting with the existing adjoints. */
void rf__walk(rf_graph *g);

/* ---- work -------------------------------------------------------------------------------------------------------- */

/* body(arg, first, last, block, worker) over fixed spans of [0, n), each of length `each` except the last.  The
 * partition depends only on n and each, so sums over it have a fixed order. */
typedef void rf_span_body(void *arg, int64_t first, int64_t last, int64_t block, int worker);
void rf__spans(const rf_graph *g, int64_t n, int64_t each, rf_span_body *body, void *arg);

/* body(arg, i, worker) for i < n on the workers: rf__parallel, unless the graph is dry. */
void rf__each(const rf_graph *g, int64_t n, rf_body *body, void *arg);

enum { RF_SPAN = 16384 };                                                /* floats: 64 KiB, part of the L2 cache */

/* Rows of one span: a multiple of 16, so that dropout's spans begin at a vector of random numbers. */
static inline int64_t rf__span_rows(int64_t width)
{
    const int64_t rows = RF_SPAN / (width > 0 ? width : 1) / 16 * 16;
    return rows < 16 ? 16 : rows;
}

void rf__graph_gemm(rf_graph *g, const rf_gemm_call *call);              /* rf_gemm; if it fails, the graph fails     */
void rf__zero(const rf_graph *g, float *x, int64_t n);
void rf__copy_into(const rf_graph *g, float *y, const float *x, int64_t n);
void rf__sum_into(const rf_graph *g, float *y, const float *x, int64_t n);               /* y = y + x                 */
void rf__column_sums(const rf_graph *g, float *sum, const float *x, int64_t rows, int64_t columns);   /* sum += ...   */

/* y[i,:] = x[row[i],:]  and its transpose  x[row[i],:] += y[i,:], in the order of i. */
void rf__gather(const rf_graph *g, float *y, const float *x, const int32_t row[], int64_t n, int64_t width);
void rf__scatter_add(const rf_graph *g, float *x, const float *y, const int32_t row[], int64_t n, int64_t width);

/* n numbers of row `row` of a table with `width` columns, from column j on, in f32. */
void rf__read_row(const rfk_table *k, const rf_file_rows *table, int64_t width, int64_t row, int64_t j, float *to,
                  int64_t n);

/* gamma, or 1 + gamma for RF_NORM_RMS_ONE (pushed); NULL for NULL. */
const float *rf__norm_scale(rf_graph *g, const rf_tensor *gamma, rf_norm_kind kind);

/* y = norm(x + residual); *sum = x + residual.  If nothing is recorded, in one pass; the bits are those of both. */
rf_tensor *rf__norm_and_sum(rf_graph *g, rf_tensor *x, rf_tensor *residual, rf_tensor *gamma, rf_tensor *beta,
                            double eps, rf_norm_kind kind, rf_tensor **sum);

bool rf__act_find(const rf_graph *g, rf_act act, rf_act_kernels *out);   /* false if there is no such activation      */
void rf__act_forward(const rf_graph *g, rf_act act, float *y, const float *x, int64_t n);
void rf__act_back(const rf_graph *g, rf_act act, float *dx, const float *dy, const float *x, int64_t n);

/* The same for z rounded to bf16: z16 receives it (or NULL), and y = act(z16) replaces y; and from the stored z16. */
void rf__act_round(const rf_graph *g, rf_act act, uint16_t *z16, float *y, int64_t n);
void rf__act_again(const rf_graph *g, rf_act act, float *y, const uint16_t *z16, int64_t n);
void rf__act_back_bf16(const rf_graph *g, rf_act act, float *dz, const uint16_t *z16, int64_t n);

/* Losses whose gradient dz is computed together with their value (loss.c).  What such a loss saves begins with this;
 * what only its run reads, such as labels, stays the caller's. */
typedef struct rf_loss_saved {
    double weight, sum;                 /* the loss is weight times sum                                               */
    int64_t hits;
    float *dz;                          /* NULL: z is not tracked                                                     */
} rf_loss_saved;

/* Returns the sum; sets hits, if the loss counts some, and dz (zeroed before), unless it is NULL. */
typedef double rf_loss_body(const rf_node *n);

/* rf__call of a loss of z.  Adds the sum and the hits to *sum and *hits (or NULL). */
rf_tensor *rf__loss_call(rf_graph *g, const rf_op *op, rf_tensor *z, void *saved, size_t size, double *sum,
                         int64_t *hits);
void rf__loss_run(rf_graph *g, rf_node *n, rf_loss_body *body);
void rf__loss_back(rf_graph *g, rf_node *n);

/* RF_EDATA: this loss does not accept the labels of a list. */
rf_status rf__list_labels_check(rf_list_loss_kind what, const float label[], int64_t n, rf_error *why);

/* Number of rows of logits that rf__vocab_loss stores at a time, for n labels and V words. */
int64_t rf__vocab_loss_rows(int64_t n, int64_t V);

/* linear(linear(x, up, act), down) in one operation without gradients, or NULL if it would not be faster. */
rf_tensor *rf__feed_forward(rf_graph *g, rf_tensor *x, rf_tensor *up, rf_tensor *up_bias, rf_act act, rf_tensor *down,
                            rf_tensor *down_bias);

/* Linear attention: columns of a row of features, where `features` is the requested number of random features, or 0 for
 * that of the map; and floats of a sequence's state. */
int64_t rf__linear_attention_features(const char *map, int64_t features, int64_t width);
int64_t rf__linear_attention_state(const rfk_table *k, int64_t heads, int64_t features, int64_t width);

/* A dropout of this step: its stream is unique in the step.  Units within it add their number to it (below 2^32). */
static inline uint64_t rf__drop_stream(rf_graph *g) { return (uint64_t)g->drops++ << 32; }

#endif
