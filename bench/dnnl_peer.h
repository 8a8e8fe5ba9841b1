/* dnnl_peer.h — products of packed weights by oneDNN, for comparison in bench_gemm.
 *
 * Each oneDNN that the build finds becomes a separate module next to bench_gemm (dnnl_peer_*.so), because different
 * versions have the same symbols.                                                                                    */
#ifndef BENCH_DNNL_PEER_H
#define BENCH_DNNL_PEER_H

#include "roformer/kernel/gemm.h"

typedef struct dnnl_peer dnnl_peer;

typedef struct dnnl_peer_problem {
    int64_t m, n, k;
    rf_act act;
    rf_type type;                       /* x and w are rounded to it beforehand (int8: x without signs); y is f32 */
    int copies;                         /* of the packed weights */
    int threads;
    const float *x, *w, *bias;          /* [m,k], [n,k], [n], in -1..1 */
    float *y;                           /* [m,n] */
} dnnl_peer_problem;

typedef struct dnnl_peer_api {
    const char *name;                   /* "oneDNN 2.6.3" */

    /* Compiles y = act(x w^T + bias) and packs the weights.  NULL when oneDNN has no such product on this machine; any
     * other failure ends the program with a message.  bias and y must outlive the peer. */
    dnnl_peer *(*create)(const dnnl_peer_problem *problem);

    /* One product with the given copy of the weights. */
    void (*run)(dnnl_peer *peer, int copy);

    /* NULL does nothing. */
    void (*free)(dnnl_peer *peer);
} dnnl_peer_api;

/* What a module exports. */
const dnnl_peer_api *dnnl_peer_module(void);

#endif
