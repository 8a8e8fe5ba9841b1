"""ONNX Runtime, all graph optimizations, each thread on a processor of its own, f32, or with weights in int8 (dynamic quantization, per
channel: unsigned activations by signed weights, which its VNNI and AMX kernels take) as argument; reads what export_onnx.py wrote.  It has
no bf16 on x86."""
import sys
from peer import *
import onnxruntime

def quantized(plain):
    """The same model with weights in int8, made once."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    to = onnx_path("-int8.onnx")
    if not os.path.exists(to):
        ready = onnx_path("-ready.onnx")
        onnx.save(onnx.load(plain), ready)              # one file: its tools do not follow links to another
        quantize_dynamic(ready, to, weight_type=QuantType.QInt8, per_channel=True)
        os.remove(ready)
    return to

how = sys.argv[1] if len(sys.argv) > 1 else "f32"
model = onnx_path()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = THREADS
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
others = pin()
if others:                                              # its workers; processors are numbered from 1
    options.add_session_config_entry("session.intra_op_thread_affinities", ";".join(str(p + 1) for p in others))
session = onnxruntime.InferenceSession(quantized(model) if how == "int8" else model, options, providers=["CPUExecutionProvider"])
serve(f"onnxruntime {how}", onnxruntime.__version__, forward=forward(lambda ids, mask: session.run(None, {"ids": ids, "mask": mask})))
