/* roformer_in_one_file.c — a whole RoFormer in one file: reads a model folder and fills in masks.
 *
 *     cc -O2 examples/roformer_in_one_file.c -o one -lm
 *     ./one models/roformer-small-en "The capital of France is [MASK]."
 *
 * Meant to be read from top to bottom, as a companion to the library and as an independent check of it: nothing is
 * shared with it, nothing is fast, every loop is the formula.  Arithmetic is double, weights are float.
 *
 *     1  config.json            the six numbers that shape the model
 *     2  model.safetensors      names, shapes, places; F32, BF16 or F16
 *     3  vocab.txt              WordPiece; lower-casing and punctuation of ASCII text only
 *     4  the encoder            embeddings, rotary attention, feed-forward, layer norms
 *     5  the head               one score for every word of the vocabulary
 *
 * Symbols (as in the paper, arXiv:2104.09864): T tokens, C hidden size, H heads, D = C/H, F feed-forward size,
 * E embedding size, V vocabulary, m and n positions.                                                                 */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *name)
{
    fprintf(stderr, "roformer_in_one_file: %s: %s\n", what, name);
    exit(1);
}

static void *get(size_t size)
{
    void *p = calloc(size ? size : 1, 1);
    if (!p) die("out of memory", "");
    return p;
}

static char *read_file(const char *folder, const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) die("cannot open", path);
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    rewind(f);
    char *data = get((size_t)n + 1);
    if (n < 0 || fread(data, 1, (size_t)n, f) != (size_t)n) die("cannot read", path);
    fclose(f);
    *size = (size_t)n;
    return data;
}

/* ---- 1. config.json: find a key, read what follows --------------------------------------------------------------- */

/* The text after "key": in a JSON object, or NULL.  Sufficient for the flat files that this program reads. */
static const char *find(const char *json, const char *key)
{
    char quoted[256];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *p = strstr(json, quoted);
    if (!p) return NULL;
    p += strlen(quoted);
    while (isspace((unsigned char)*p)) p++;
    if (*p++ != ':') return NULL;
    while (isspace((unsigned char)*p)) p++;
    return p;
}

static double number(const char *json, const char *key, double otherwise)
{
    const char *p = find(json, key);
    return p && *p != 'n' ? strtod(p, NULL) : otherwise;
}

static int is_true(const char *json, const char *key, int otherwise)
{
    const char *p = find(json, key);
    return p ? *p == 't' : otherwise;
}

struct config { int V, E, C, L, H, F, rotate_value; double eps, base; char act[32]; } c;

static void read_config(const char *folder)
{
    size_t size;
    char *json = read_file(folder, "config.json", &size);
    c.V = (int)number(json, "vocab_size", 50000);
    c.C = (int)number(json, "hidden_size", 768);
    c.E = (int)number(json, "embedding_size", c.C);
    c.L = (int)number(json, "num_hidden_layers", 12);
    c.H = (int)number(json, "num_attention_heads", 12);
    c.F = (int)number(json, "intermediate_size", 3072);
    c.eps = number(json, "layer_norm_eps", 1e-12);
    c.base = number(json, "rope_theta", 10000);
    c.rotate_value = is_true(json, "rotary_value", 0);
    strcpy(c.act, "gelu");
    const char *act = find(json, "hidden_act");
    if (act && *act == '"') sscanf(act + 1, "%31[^\"]", c.act);
    free(json);
}

/* ---- 2. model.safetensors: 8 bytes of header length, a JSON header, then the tensors ----------------------------- */

static char *file, *header, *tensors;

static float half(uint16_t h)                                   /* IEEE binary16 */
{
    const int sign = h >> 15, e = h >> 10 & 31, m = h & 1023;
    const double x = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, e - 25);
    return (float)(sign ? -x : x);
}

static void open_weights(const char *folder)
{
    size_t size;
    uint64_t n;
    file = read_file(folder, "model.safetensors", &size);
    memcpy(&n, file, 8);
    if (size < 8 || n > size - 8) die("not a safetensors file", folder);
    header = get(n + 1);
    memcpy(header, file + 8, n);
    tensors = file + 8 + n;
}

/* The tensor of that name as floats; `required` or NULL.  Freed never: a model lives as long as the program. */
static float *tensor(const char *name, size_t count, int required)
{
    const char *entry = find(header, name);
    if (!entry) {
        if (required) die("missing tensor", name);
        return NULL;
    }
    char type[8] = "";
    size_t from = 0, to = 0;
    const char *t = find(entry, "dtype"), *o = find(entry, "data_offsets");
    if (!t || !o || sscanf(t, "\"%7[^\"]", type) != 1 || sscanf(o, "[%zu,%zu]", &from, &to) != 2)
        die("bad entry", name);

    float *x = get(count * sizeof *x);
    const char *data = tensors + from;
    const size_t wide = strcmp(type, "F32") ? 2 : 4;
    if (to - from != count * wide) die("unexpected size", name);
    for (size_t i = 0; i < count; i++) {
        if (wide == 4) {
            memcpy(x + i, data + 4 * i, 4);
        } else {
            uint16_t h;
            memcpy(&h, data + 2 * i, 2);
            const uint32_t u = (uint32_t)h << 16;
            if (!strcmp(type, "BF16")) memcpy(x + i, &u, 4);
            else x[i] = half(h);
        }
    }
    return x;
}

static float *of_layer(int l, const char *name, size_t count)
{
    char whole[128];
    snprintf(whole, sizeof whole, "roformer.encoder.layer.%d.%s", l, name);
    return tensor(whole, count, 1);
}

/* ---- 3. vocab.txt and WordPiece ---------------------------------------------------------------------------------- */

static char **word;
static int words, lowercase = 1;

static void read_vocabulary(const char *folder)
{
    size_t size;
    char *text = read_file(folder, "vocab.txt", &size);
    word = get((size_t)c.V * sizeof *word);
    for (char *line = strtok(text, "\r\n"); line && words < c.V; line = strtok(NULL, "\r\n")) word[words++] = line;
    char path[4096];
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    FILE *f = fopen(path, "rb");
    if (f) {
        fclose(f);
        lowercase = is_true(read_file(folder, "tokenizer_config.json", &size), "do_lower_case", 1);
    }
}

static int id_of(const char *s, size_t n)
{
    for (int i = 0; i < words; i++)
        if (strlen(word[i]) == n && !memcmp(word[i], s, n)) return i;
    return -1;
}

static int special(const char *s)
{
    const int id = id_of(s, strlen(s));
    if (id < 0) die("vocab.txt lacks", s);
    return id;
}

/* One word: the longest piece of the vocabulary that it starts with, then "##" and the rest; or [UNK]. */
static int pieces(const char *s, size_t n, int *id)
{
    int count = 0;
    for (size_t at = 0; at < n;) {
        size_t m = n - at;
        int found = -1;
        for (; m && found < 0; m--) {
            char piece[512];
            const int wide = snprintf(piece, sizeof piece, "%s%.*s", at ? "##" : "", (int)m, s + at);
            if (wide > 0 && wide < (int)sizeof piece) found = id_of(piece, (size_t)wide);
            if (found >= 0) break;
        }
        if (found < 0) {
            id[0] = special("[UNK]");
            return 1;
        }
        id[count++] = found;
        at += m;
    }
    return count;
}

/* [CLS] text [SEP]: words are cut at spaces and around punctuation, "[MASK]" is one token. */
static int tokenize(const char *text, int *id)
{
    const size_t n = strlen(text);
    char *s = get(n + 1);
    int count = 0;
    id[count++] = special("[CLS]");
    for (size_t i = 0; i < n;) {
        if (!strncmp(text + i, "[MASK]", 6)) {
            id[count++] = special("[MASK]");
            i += 6;
        } else if (isspace((unsigned char)text[i])) {
            i++;
        } else {
            size_t m = 0;
            if (ispunct((unsigned char)text[i])) {
                s[m++] = text[i++];
            } else {
                while (text[i] && !isspace((unsigned char)text[i]) && !ispunct((unsigned char)text[i])) {
                    const char ch = text[i++];
                    s[m++] = lowercase && ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) : ch;
                }
            }
            count += pieces(s, m, id + count);
        }
    }
    id[count++] = special("[SEP]");
    free(s);
    return count;
}

/* ---- 4. the encoder ---------------------------------------------------------------------------------------------- */

/* y[t,:] = x[t,:] W^T + b        W is [out, in], as PyTorch keeps it */
static double *linear(const double *x, int T, int in, int out, const float *W, const float *b)
{
    double *y = get((size_t)T * (size_t)out * sizeof *y);
    for (int t = 0; t < T; t++)
        for (int o = 0; o < out; o++) {
            double s = b ? b[o] : 0;
            for (int i = 0; i < in; i++) s += x[(size_t)t * in + i] * W[(size_t)o * in + i];
            y[(size_t)t * out + o] = s;
        }
    return y;
}

/* x = gamma (x - mean) / sqrt(variance + eps) + beta, row by row, in place */
static void layer_norm(double *x, int T, int d, const float *gamma, const float *beta)
{
    for (int t = 0; t < T; t++, x += d) {
        double mean = 0, variance = 0;
        for (int i = 0; i < d; i++) mean += x[i] / d;
        for (int i = 0; i < d; i++) variance += (x[i] - mean) * (x[i] - mean) / d;
        for (int i = 0; i < d; i++) x[i] = gamma[i] * (x[i] - mean) / sqrt(variance + c.eps) + beta[i];
    }
}

static void activate(double *x, size_t n)
{
    const double pi = 3.14159265358979323846;
    for (size_t i = 0; i < n; i++) {
        const double v = x[i];
        if (!strcmp(c.act, "relu")) x[i] = v > 0 ? v : 0;
        else if (!strcmp(c.act, "silu") || !strcmp(c.act, "swish")) x[i] = v / (1 + exp(-v));
        else if (!strcmp(c.act, "tanh")) x[i] = tanh(v);
        else if (strcmp(c.act, "gelu")) x[i] = 0.5 * v * (1 + tanh(sqrt(2 / pi) * (v + 0.044715 * v * v * v)));
        else x[i] = 0.5 * v * (1 + erf(v / sqrt(2)));
    }
}

/* Rotary position embedding, Eq. 34: plane i of each head rotates by the angle m theta_i, theta_i = base^(-2i/D).
 * Here is all that a RoFormer knows of positions. */
static void rotate(double *x, int T)
{
    const int D = c.C / c.H;
    for (int m = 0; m < T; m++)
        for (int h = 0; h < c.H; h++)
            for (int i = 0; i < D / 2; i++) {
                double *p = x + (size_t)m * c.C + (size_t)h * D + 2 * i;
                const double angle = m * pow(c.base, -2.0 * i / D), p0 = p[0], p1 = p[1];
                p[0] = p0 * cos(angle) - p1 * sin(angle);
                p[1] = p0 * sin(angle) + p1 * cos(angle);
            }
}

/* softmax(q k^T / sqrt D) v for each head */
static double *attend(const double *q, const double *k, const double *v, int T)
{
    const int D = c.C / c.H;
    double *y = get((size_t)T * (size_t)c.C * sizeof *y), *p = get((size_t)T * sizeof *p);
    for (int h = 0; h < c.H; h++)
        for (int m = 0; m < T; m++) {
            double largest = -INFINITY, sum = 0;
            for (int n = 0; n < T; n++) {
                p[n] = 0;
                for (int i = 0; i < D; i++)
                    p[n] += q[(size_t)m * c.C + h * D + i] * k[(size_t)n * c.C + h * D + i] / sqrt(D);
                largest = fmax(largest, p[n]);
            }
            for (int n = 0; n < T; n++) sum += p[n] = exp(p[n] - largest);
            for (int n = 0; n < T; n++)
                for (int i = 0; i < D; i++)
                    y[(size_t)m * c.C + h * D + i] += p[n] / sum * v[(size_t)n * c.C + h * D + i];
        }
    free(p);
    return y;
}

static void add(double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] += y[i];
    free(y);
}

static void encoder_layer(int l, double *h, int T)
{
    const size_t CC = (size_t)c.C * c.C, FC = (size_t)c.F * c.C, C = (size_t)c.C, F = (size_t)c.F, n = (size_t)T * C;
    double *q = linear(h, T, c.C, c.C, of_layer(l, "attention.self.query.weight", CC),
                       of_layer(l, "attention.self.query.bias", C));
    double *k =
        linear(h, T, c.C, c.C, of_layer(l, "attention.self.key.weight", CC), of_layer(l, "attention.self.key.bias", C));
    double *v = linear(h, T, c.C, c.C, of_layer(l, "attention.self.value.weight", CC),
                       of_layer(l, "attention.self.value.bias", C));
    rotate(q, T);
    rotate(k, T);
    if (c.rotate_value) rotate(v, T);
    double *a = attend(q, k, v, T);
    add(h,
        linear(a, T, c.C, c.C, of_layer(l, "attention.output.dense.weight", CC),
               of_layer(l, "attention.output.dense.bias", C)),
        n);
    layer_norm(h, T, c.C, of_layer(l, "attention.output.LayerNorm.weight", C),
               of_layer(l, "attention.output.LayerNorm.bias", C));

    double *f =
        linear(h, T, c.C, c.F, of_layer(l, "intermediate.dense.weight", FC), of_layer(l, "intermediate.dense.bias", F));
    activate(f, (size_t)T * F);
    add(h, linear(f, T, c.F, c.C, of_layer(l, "output.dense.weight", FC), of_layer(l, "output.dense.bias", C)), n);
    layer_norm(h, T, c.C, of_layer(l, "output.LayerNorm.weight", C), of_layer(l, "output.LayerNorm.bias", C));
    free(q), free(k), free(v), free(a), free(f);
}

static double *encode(const int *id, int T, const float *embeddings)
{
    const size_t E = (size_t)c.E;
    const float *type = tensor("roformer.embeddings.token_type_embeddings.weight", 2 * E, 1);
    double *h = get((size_t)T * E * sizeof *h);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < c.E; i++) h[(size_t)t * E + i] = embeddings[(size_t)id[t] * E + i] + type[i];
    layer_norm(h, T, c.E, tensor("roformer.embeddings.LayerNorm.weight", E, 1),
               tensor("roformer.embeddings.LayerNorm.bias", E, 1));
    if (c.E != c.C)
        h = linear(h, T, c.E, c.C, tensor("roformer.embeddings_project.weight", (size_t)c.C * E, 1),
                   tensor("roformer.embeddings_project.bias", (size_t)c.C, 1));
    for (int l = 0; l < c.L; l++) encoder_layer(l, h, T);
    return h;
}

/* ---- 5. the head: logits = norm(act(h W_t + b_t)) embeddings^T + bias -------------------------------------------- */

static double *scores(const double *h, const float *embeddings)
{
    const size_t E = (size_t)c.E;
    double *x = linear(h, 1, c.C, c.E, tensor("cls.predictions.transform.dense.weight", E * (size_t)c.C, 1),
                       tensor("cls.predictions.transform.dense.bias", E, 1));
    activate(x, E);
    layer_norm(x, 1, c.E, tensor("cls.predictions.transform.LayerNorm.weight", E, 1),
               tensor("cls.predictions.transform.LayerNorm.bias", E, 1));
    const float *bias = tensor("cls.predictions.bias", (size_t)c.V, 0);
    if (!bias) bias = tensor("cls.predictions.decoder.bias", (size_t)c.V, 1);
    return linear(x, 1, c.E, c.V, embeddings, bias);
}

int main(int argc, char **argv)
{
    const int all = argc == 4 && !strcmp(argv[1], "--logits");       /* print every logit instead of the best five */
    if (argc != 3 + all) {
        fprintf(stderr, "usage: %s [--logits] MODEL_FOLDER \"text with [MASK]\"\n", argv[0]);
        return 2;
    }
    const char *folder = argv[1 + all], *text = argv[2 + all];
    read_config(folder);
    open_weights(folder);
    read_vocabulary(folder);
    int *id = get((strlen(text) + 2) * sizeof *id);
    const int T = tokenize(text, id), mask = special("[MASK]");
    const float *embeddings = tensor("roformer.embeddings.word_embeddings.weight", (size_t)c.V * (size_t)c.E, 1);
    const double *h = encode(id, T, embeddings);
    for (int t = 0; t < T; t++) {
        if (id[t] != mask) continue;
        double *logit = scores(h + (size_t)t * c.C, embeddings), largest = -INFINITY, sum = 0;
        for (int i = 0; i < c.V; i++) largest = fmax(largest, logit[i]);
        for (int i = 0; i < c.V; i++) sum += exp(logit[i] - largest);
        for (int i = 0; all && i < c.V; i++) printf("%.9g\n", logit[i]);
        for (int k = 0; !all && k < 5; k++) {
            int best = 0;
            for (int i = 1; i < c.V; i++)
                if (logit[i] > logit[best]) best = i;
            printf("%6.2f %%  %s\n", 100 * exp(logit[best] - largest) / sum, best < words ? word[best] : "?");
            logit[best] = -INFINITY;
        }
        free(logit);
    }
    return 0;
}
