"""OpenVINO, one stream, pinned threads, f32 (or bf16, or int8 quantized by NNCF, as argument); reads what export_onnx.py wrote.  Beside
int8, what stays in floating point is bf16 where the processor has AMX, as OpenVINO itself chooses."""
import sys
from peer import *
import openvino

def quantized(model):
    """Weights and activations in int8, calibrated on random texts; made once."""
    import nncf
    texts = np.random.RandomState(2).randint(200, 20000, (16, 1, 128)).astype(np.int64)
    data = [{"ids": ids, "mask": np.ones((1, 128), np.int64)} for ids in texts]
    return nncf.quantize(model, nncf.Dataset(data), model_type=nncf.ModelType.TRANSFORMER, subset_size=16)

how = sys.argv[1] if len(sys.argv) > 1 else "f32"
core = openvino.Core()
model = core.read_model(onnx_path())
if how == "int8":
    kept = onnx_path("-int8.xml")
    if not os.path.exists(kept):
        openvino.save_model(quantized(model), kept, compress_to_fp16=False)
    model = core.read_model(kept)
model = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": how if how != "int8" else "bf16" if has("amx_bf16") else "f32",
                                          "INFERENCE_NUM_THREADS": THREADS, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                                          "ENABLE_CPU_PINNING": True})
request = model.create_infer_request()
serve(f"openvino {how}", openvino.__version__, forward=forward(lambda ids, mask: request.infer({0: ids, 1: mask})))
