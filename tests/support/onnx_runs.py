"""Run ONNX files with ONNX Runtime, an independent program."""

import json

import numpy as np
import onnxruntime


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_onnx(path, X):
    """Return the only output of a file, and its name."""
    opened = session(path)
    (output,) = opened.get_outputs()
    (found,) = opened.run(None, {"features": np.asarray(X, dtype=np.float64)})
    assert found.shape == (len(X), output.shape[1])
    return found, output.name


def facts(path):
    """Return the metadata of a file, with the lists of names read."""
    known = session(path).get_modelmeta().custom_metadata_map
    return {
        name: json.loads(text) if name.endswith("_names") else text for name, text in known.items()
    }
