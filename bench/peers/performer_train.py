"""One masked-LM training step in PyTorch of the model that bench/peers/performer.json describes: RoFormer's layers with
performer-pytorch's attention (FAVOR+, 256 random features, queries and keys rotated before the map), forward, loss on 15 % of
the tokens, backward, clipping, AdamW, f32.

    echo '{"bench": "train-linear", "shape": "1x8192", "causal": false}' | python performer_train.py"""
from peer import *
import torch
from torch import nn
from torch.nn import functional as F
from performer_pytorch.performer_pytorch import FastAttention, FixedPositionalEmbedding, apply_rotary_pos_emb

torch.set_num_threads(THREADS)
torch.manual_seed(0)
with open(os.path.join(HERE, "performer.json")) as f:
    CONFIG = json.load(f)
C, INSIDE, ROWS = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["vocab_size"]
DEEP, BESIDE, FEATURES = CONFIG["num_hidden_layers"], CONFIG["num_attention_heads"], CONFIG["num_random_features"]
D = C // BESIDE


class Layer(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.qkv, self.out = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.up, self.down = nn.Linear(C, INSIDE), nn.Linear(INSIDE, C)
        self.first, self.second = nn.LayerNorm(C), nn.LayerNorm(C)
        self.attention = FastAttention(D, FEATURES, causal=causal)

    def forward(self, x, angles):
        B, T, _ = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, BESIDE, D).permute(2, 0, 3, 1, 4)
        y = self.attention(*apply_rotary_pos_emb(q, k, angles), v)
        x = self.first(x + self.out(y.transpose(1, 2).reshape(B, T, C)))
        return self.second(x + self.down(F.gelu(self.up(x))))


class Model(nn.Module):
    def __init__(self, longest, causal):
        super().__init__()
        self.words, self.norm, self.types = nn.Embedding(ROWS, C), nn.LayerNorm(C), nn.Parameter(torch.zeros(C))
        self.layers = nn.ModuleList(Layer(causal) for _ in range(DEEP))
        self.transform, self.last, self.bias = nn.Linear(C, C), nn.LayerNorm(C), nn.Parameter(torch.zeros(ROWS))
        self.angles = FixedPositionalEmbedding(D, longest)

    def forward(self, ids, labels):
        x = self.norm(self.words(ids) + self.types)
        angles = self.angles(x)
        for layer in self.layers:
            x = layer(x, angles)
        here = labels >= 0
        x = self.last(F.gelu(self.transform(x[here])))
        return F.cross_entropy(F.linear(x, self.words.weight, self.bias), labels[here])


def train(case):
    (batch,) = lengths_of(case)
    model = Model(max(batch), bool(case.get("causal"))).train()
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.01, fused=True)
    ids = torch.from_numpy(padded(batch, ROWS)[0])
    labels = torch.where(torch.rand(ids.shape) < 0.15, ids, -100)
    labels[0, 0] = ids[0, 0]

    def step():
        model(ids, labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        adamw.zero_grad(set_to_none=True)

    median, best = timed(step, case.get("seconds", 3))
    return row(case, median, best, tokens=sum(batch))


serve("performer-pytorch", f"torch {torch.__version__}", **{"train-linear": train})
