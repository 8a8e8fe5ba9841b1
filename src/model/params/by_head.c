/* by_head.c — parameters that a file has in another order: matrices of queries, keys and values and their biases, with
 * rows by head (RF_ROW_BY_HEAD), and a convolution, with the k numbers of a column together (RF_ROW_TAPS).
 *
 *     here     row  part C + h D + d            part 0 query, 1 key, 2 value             column  j C + i
 *     there    row  (3 h + part) D + d                                                   column  i k + j
 *
 * Everything between reading and writing has the order of here. */
#include "model/params/params.h"
#include "store/store.h"

/* The rows of a convolution. */
static rf_status reorder_taps(const rf_params *params, const rf_param *p, float *x, bool to_file, rf_error *why)
{
    const size_t n = (size_t)p->dim[1], C = (size_t)p->dim[0], k = n / C;
    float *row = rf__alloc(params->ctx, n * sizeof *row);
    if (!row) return rf_fail(why, RF_ENOMEM, "out of memory: %zu bytes of weights", n * sizeof *row);
    for (size_t o = 0; o < C; o++, x += n) {
        memcpy(row, x, n * sizeof *row);
        for (size_t i = 0; i < C; i++)
            for (size_t j = 0; j < k; j++)
                x[to_file ? i * k + j : j * C + i] = row[to_file ? j * C + i : i * k + j];
    }
    rf__free(params->ctx, row);
    return RF_OK;
}

rf_status rf__param_reorder(const rf_params *params, const rf_param *p, void *x, size_t row, bool to_file,
                            rf_error *why)
{
    const rf_config *c = &params->stack[p->stack].config;
    const size_t H = (size_t)c->num_attention_heads, D = (size_t)p->dim[0] / (3 * H), block = D * row;
    if (p->flags & RF_ROW_TAPS) return reorder_taps(params, p, x, to_file, why);
    if (!(p->flags & RF_ROW_BY_HEAD)) return RF_OK;
    char *copy = rf__alloc(params->ctx, 3 * H * block), *to = x;
    if (!copy) return rf_fail(why, RF_ENOMEM, "out of memory: %zu bytes of weights", 3 * H * block);
    memcpy(copy, x, 3 * H * block);
    for (size_t h = 0; h < H; h++)
        for (size_t part = 0; part < 3; part++) {
            const size_t here = (part * H + h) * block, there = (3 * h + part) * block;
            memcpy(to + (to_file ? there : here), copy + (to_file ? here : there), block);
        }
    rf__free(params->ctx, copy);
    return RF_OK;
}

rf_status rf__param_read(const rf_params *params, const rf_param *p, const rf_weights *w, const rf_weight *t, float *to,
                         rf_error *why)
{
    if (rf__is_answer_row(params, p)) return rf__answer_row_read(params, w, t, to, why);
    int64_t stride[2];
    const rf_weight seen = rf__as_here(p, t, stride);
    const rf_status status = rf__weights_read(w, &seen, to, 1, why);
    const size_t row = p->rank > 1 ? (size_t)p->dim[1] : 1;
    return status ? status : rf__param_reorder(params, p, to, row * sizeof *to, false, why);
}

rf_status rf__param_codes(const rf_params *params, const rf_param *p, const rf_weights *w, const rf_weight *t,
                          int8_t *q, float *scale, rf_error *why)
{
    rf__weights_codes(t, q);
    rf_status status = rf__weights_read(w, rf__quantized_scale(w, t), scale, 1, why);
    if (!status) status = rf__param_reorder(params, p, q, (size_t)p->dim[1], false, why);
    return status ? status : rf__param_reorder(params, p, scale, sizeof *scale, false, why);
}
