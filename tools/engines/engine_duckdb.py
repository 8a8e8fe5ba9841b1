"""DuckDB: a function of SQL over a table, NULL, several threads, another name and a prompt, and bad input."""
import duckdb
import lib
import pyarrow.parquet as pq
from roformer_c import duckdb as engine

rows = lib.table(2500)                  # more than one batch of DuckDB
con = duckdb.connect()
con.execute("SET threads TO 2")
engine.register(con, lib.MODEL)
con.register("texts", rows)
found = con.sql("SELECT id, embed(text) AS embedding FROM texts").to_arrow_table()
lib.compare_table(found, lib.expected(rows))
few = lib.table(50)
con.register("few", few)
con.sql("SELECT id, embed(text)::FLOAT[] AS embedding FROM few").write_parquet(str(lib.WORK / "duckdb.parquet"))
lib.compare_table(pq.read_table(lib.WORK / "duckdb.parquet"), lib.expected(few), fixed=False)
engine.register(con, lib.MODEL, "short", normalize_embeddings=True, truncate_dim=32, prompt="query: ", threads=1)
found = con.sql("SELECT id, short(text) AS embedding FROM few").to_arrow_table()
lib.compare_table(found, lib.expected(few, normalize_embeddings=True, truncate_dim=32, prompt="query: "))
assert found.schema.field("embedding").type.list_size == 32
((best,),) = con.sql("SELECT text FROM few WHERE text <> '' ORDER BY array_cosine_similarity(embed(text), "
                  "embed('how to install it')) DESC, id LIMIT 1").fetchall()
assert isinstance(best, str)
assert con.sql("SELECT embed(NULL) IS NULL").fetchall() == [(True,)]
lib.refused(lambda: engine.register(con, lib.MODEL, "bad", prompt_name="none"), "prompt_name", "none")
lib.refused(lambda: engine.register(con, lib.MODEL, "bad", precision="int8"), "precision", "truncate_dim")
lib.refused(lambda: engine.register(con, "/no/such/folder", "bad"), "/no/such/folder")
