#!/bin/sh
# Makes a Python environment with the peers (about 6 GB) in $PEERS (default: build/peers of the repository).  Needed by
# bench/compare.py alone; nothing else in the project uses it.
set -e
here=$(cd "$(dirname "$0")" && pwd)
to=${PEERS:-$here/../../build/peers}
mkdir -p "$to"
[ -x "$to/v/bin/python" ] || python3 -m venv "$to/v"
"$to/v/bin/pip" install -q -U pip
"$to/v/bin/pip" install -q torch transformers onnx onnxscript onnxruntime openvino ctranslate2 nncf tokenizers numpy accelerate performer-pytorch sentencepiece
[ -f "$to/roformer.onnx" ] || PEERS="$to" "$to/v/bin/python" "$here/export_onnx.py"
echo "$to/v/bin/python"
