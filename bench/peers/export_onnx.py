"""Writes $PEERS/roformer.onnx (of $PEER_FAMILY: its name), the same model for ONNX Runtime and OpenVINO, and checks it against PyTorch."""
from peer import *
import torch
from torch.export import Dim

class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = encoder()

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

torch.manual_seed(0)
model = Encoder().eval()
ids = torch.randint(200, 20000, (2, 24))
free = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
to = onnx_path()
with torch.no_grad():
    torch.onnx.export(model, (ids, torch.ones_like(ids)), to, input_names=["ids", "mask"], output_names=["h"],
                      dynamic_shapes={"ids": free, "mask": free}, opset_version=18, dynamo=True)
import onnxruntime
session = onnxruntime.InferenceSession(to)
for batch in ([16], [50, 20, 7]):
    ids, mask = padded(batch)
    with torch.no_grad():
        want = model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
    got = session.run(None, {"ids": ids, "mask": mask})[0]
    off = float(np.abs((want - got) * mask[:, :, None]).max())
    print(f"{batch}: largest difference from PyTorch {off:.2e}")
    assert off < 1e-3
