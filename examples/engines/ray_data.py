"""ray_data.py IN.parquet OUT [FOLDER] — vectors of the column "text" with Ray Data"""
import sys

import ray

import roformer_c.ray

source, to, folder = (sys.argv[1:] + ["roformer-small-en-sentences"])[:3]
ray.init()
actors = max(int(ray.cluster_resources()["CPU"]) - 1, 1)               # one CPU stays free for reading and writing
dataset = ray.data.read_parquet(source)
roformer_c.ray.embed(dataset, folder, actors=actors, normalize_embeddings=True).write_parquet(to)
