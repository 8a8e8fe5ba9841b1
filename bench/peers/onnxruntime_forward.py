"""ONNX Runtime, all graph optimisations, f32; reads what export_onnx.py wrote."""
from peer import *
import onnxruntime

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = THREADS
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
session = onnxruntime.InferenceSession(os.path.join(PEERS, "roformer.onnx"), options, providers=["CPUExecutionProvider"])
serve("onnxruntime f32", onnxruntime.__version__, forward=forward(lambda ids, mask: session.run(None, {"ids": ids, "mask": mask})))
