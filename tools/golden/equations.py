"""equations.py - what the scripts share that compute a model by its printed equations, where no library has a class: tensors by their
names, and the heads of BERT's kind.  A subclass gives the shapes of its tensors and `encode`."""
import types

import torch


class Equations(torch.nn.Module):
    """Tensors under their names in files.  The name of the class ends with that of the head, as golden.py expects it."""
    def __init__(self, config, shapes):
        super().__init__()
        self.config = types.SimpleNamespace(**config)
        self.tensors = {name: torch.nn.Parameter(torch.empty(shape)) for name, shape in shapes.items()}
        for name, p in self.tensors.items():
            self.register_parameter(name.replace(".", "/"), p)

    def named_parameters(self, *args, **more):
        return self.tensors.items()

    def tie_weights(self):
        pass

    def linear(self, x, name):
        """x W^T + b, where the file has b."""
        x = x @ self.tensors[name + ".weight"].T
        return x + self.tensors[name + ".bias"] if name + ".bias" in self.tensors else x

    def layer_norm(self, x, name, eps):
        x = x - x.mean(-1, keepdim=True)
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def kind(self):
        return type(self).__name__.split("For")[-1]

    def answer(self, h, logits):
        out = types.SimpleNamespace(hidden_states=[h], logits=logits)
        if self.kind() == "QuestionAnswering":
            out.start_logits, out.end_logits = logits[..., 0], logits[..., 1]
        return out


def heads(config, C, V, kind, prefix):
    """Shapes of the tensors of BERT's heads."""
    rows = {"MultipleChoice": 1, "QuestionAnswering": 2}.get(kind, config.get("num_labels", 2))
    if kind == "MaskedLM":
        transform = "cls.predictions.transform."
        return {transform + "dense.weight": (C, C), transform + "dense.bias": (C,), transform + "LayerNorm.weight": (C,),
                transform + "LayerNorm.bias": (C,), "cls.predictions.bias": (V,)}
    name = "qa_outputs" if kind == "QuestionAnswering" else "classifier"
    own = {name + ".weight": (rows, C), name + ".bias": (rows,)}
    if kind in ("SequenceClassification", "MultipleChoice"):
        own.update({prefix + "pooler.dense.weight": (C, C), prefix + "pooler.dense.bias": (C,)})
    return own


def bert_logits(model, h, words, prefix):
    """BERT's heads: masked words | the pooler of the first token and a classifier | a classifier of each token."""
    kind = model.kind()
    if kind == "MaskedLM":
        x = gelu(model.linear(h, "cls.predictions.transform.dense"))
        x = model.layer_norm(x, "cls.predictions.transform.LayerNorm", model.config.layer_norm_eps)
        return x @ words.T + model.tensors["cls.predictions.bias"]
    if kind in ("SequenceClassification", "MultipleChoice"):
        return model.linear(torch.tanh(model.linear(h[:, 0], prefix + "pooler.dense")), "classifier")
    return model.linear(h, "qa_outputs" if kind == "QuestionAnswering" else "classifier")


def gelu(x):
    return x * (1 + torch.erf(x / 2 ** 0.5)) / 2


def attention(q, k, v, mask, bias=0):
    """softmax(q k^T / sqrt D + bias) v over the tokens of mask [B,T]; q, k, v [B,H,T,D] -> [B,T,H D]."""
    score = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias
    p = torch.softmax(score.masked_fill(mask[:, None, None, :] == 0, -torch.inf), -1)
    return (p @ v).transpose(1, 2).flatten(2)
