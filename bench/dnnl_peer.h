/* dnnl_peer.h — products of packed weights by oneDNN, for bench_gemm to compare with. */
#ifndef BENCH_DNNL_PEER_H
#define BENCH_DNNL_PEER_H

#include <stdbool.h>

#include "roformer/work.h"

typedef struct dnnl_peer dnnl_peer;

typedef struct dnnl_peer_problem {
    int64_t m, n, k;
    rf_act act;
    bool half;                          /* x and w are rounded to bf16 beforehand; y is f32 */
    int copies;                         /* of the packed weights */
    int threads;
    const float *x, *w, *bias;          /* [m,k], [n,k], [n] */
    float *y;                           /* [m,n] */
} dnnl_peer_problem;

/* "oneDNN 2.6.3", or NULL when it is not built in. */
const char *dnnl_peer_name(void);

/* Compiles y = act(x w^T + bias) and packs the weights.  NULL when oneDNN has no such product on this machine; any
 * other failure ends the program with a message.  bias and y must outlive the peer. */
dnnl_peer *dnnl_peer_new(const dnnl_peer_problem *problem);

/* One product with the given copy of the weights. */
void dnnl_peer_run(dnnl_peer *peer, int copy);

/* NULL does nothing. */
void dnnl_peer_free(dnnl_peer *peer);

#endif
