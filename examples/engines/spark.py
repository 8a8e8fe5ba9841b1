"""spark.py IN.parquet OUT [FOLDER] — vectors of the column "text" with Spark: spark-submit spark.py texts.parquet out"""
import sys

from pyspark.sql import SparkSession

import roformer_c.spark

source, to, folder = (sys.argv[1:] + ["roformer-small-en-sentences"])[:3]
session = SparkSession.builder.appName("vectors").getOrCreate()
frame = session.read.parquet(source)
roformer_c.spark.embed(frame, folder, normalize_embeddings=True).write.parquet(to)
session.stop()
