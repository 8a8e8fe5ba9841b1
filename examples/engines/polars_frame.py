"""polars_frame.py IN.parquet OUT.parquet [FOLDER] — vectors of the column "text" with Polars"""
import sys

import polars

import roformer_c.polars

source, to, folder = (sys.argv[1:] + ["roformer-small-en-sentences"])[:3]
vectors = roformer_c.polars.embedding("text", folder, normalize_embeddings=True).alias("embedding")
polars.scan_parquet(source).with_columns(vectors).sink_parquet(to)
