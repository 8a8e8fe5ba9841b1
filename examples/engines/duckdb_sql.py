"""duckdb_sql.py IN.parquet OUT.parquet [FOLDER] — vectors of the column "text" with DuckDB"""
import sys

import duckdb

import roformer_c.duckdb

source, to, folder = (sys.argv[1:] + ["roformer-small-en-sentences"])[:3]
connection = duckdb.connect()
roformer_c.duckdb.register(connection, folder, normalize_embeddings=True)
# FLOAT[]: Parquet files of DuckDB 2.0 with NULL in a FLOAT[256] cannot be read by others
connection.read_parquet(source).select("*, embed(text)::FLOAT[] AS embedding").write_parquet(to)
