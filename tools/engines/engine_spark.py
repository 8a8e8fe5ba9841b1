"""Spark: two executors on this machine, a Python worker killed at random, and a folder that differs from the driver's."""
import os
import shutil
import sys

import lib
import pyarrow as pa
import pyarrow.parquet as pq

if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    print("spark: no Java 17 on PATH or at JAVA_HOME")
    sys.exit(77)
from pyspark.sql import SparkSession
from roformer_c import spark as engine

os.environ["PYSPARK_PYTHON"] = sys.executable
session = (SparkSession.builder.master(os.environ.get("SPARK_MASTER", "local-cluster[2,1,1024]")).appName("engines")
           .config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g")
           .config("spark.sql.execution.arrow.maxRecordsPerBatch", "16").config("spark.executor.memory", "1g")
           .config("spark.sql.parquet.compression.codec", "gzip")          # snappy's library does not load where musl is installed
           .getOrCreate())
session.sparkContext.setLogLevel("OFF")


class Mortal(engine.Rows):
    """Rows whose Python worker dies once, between two batches."""

    def __call__(self, batches):
        return map(lib.die_once, super().__call__(batches))


rows = lib.table()
wanted = lib.expected(rows)
texts = session.createDataFrame([(r["id"], r["text"]) for r in rows.to_pylist()], "id long, text string").repartition(4)
found = engine.embed(texts, lib.MODEL)
assert found.schema["embedding"].dataType.simpleString() == "array<float>"
collected = found.collect()
lib.compare([r.id for r in collected], [r.embedding for r in collected], wanted)
own, engine.Rows = engine.Rows, Mortal
for attempt in range(10):
    engine.embed(texts, lib.MODEL).write.mode("overwrite").parquet("file://%s/out" % lib.WORK)
    written = pq.read_table(lib.WORK / "out")
    lib.compare(written["id"].to_pylist(), written["embedding"].to_pylist(), wanted)
    if lib.was_killed():
        break
assert lib.was_killed(), "no worker was killed"
engine.Rows = own
lib.refused(lambda: engine.embed(texts, lib.MODEL, column="body"), "column: expected one of id, text, got 'body'")
mine = lib.copy_model("mine")
late = engine.embed(texts, mine)
with open(mine + "/vocab.txt", "a", encoding="utf-8") as file:
    file.write("another\n")
lib.refused(late.collect, "mine: file vocab.txt: expected the content that the driver has")
assert pa.types.is_list(written.schema.field("embedding").type)
session.stop()
