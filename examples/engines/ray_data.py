"""ray_data.py IN.parquet OUT [FOLDER] — vectors of the column "text" with Ray Data"""
import sys

import ray

import roformer_c.ray

source, to, folder = (sys.argv[1:] + ["roformer-small-en-sentences"])[:3]
dataset = ray.data.read_parquet(source)
roformer_c.ray.embed(dataset, folder, actors=2, normalize_embeddings=True).write_parquet(to)
