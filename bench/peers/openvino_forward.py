"""OpenVINO, f32 (or bf16 as argument); reads what export_onnx.py wrote."""
import sys
from peer import *
import openvino

how = sys.argv[1] if len(sys.argv) > 1 else "f32"
core = openvino.Core()
model = core.compile_model(core.read_model(os.path.join(PEERS, "roformer.onnx")), "CPU",
                           {"INFERENCE_PRECISION_HINT": how, "INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"})
request = model.create_infer_request()
serve(f"openvino {how}", openvino.__version__, forward=forward(lambda ids, mask: request.infer({0: ids, 1: mask})))
