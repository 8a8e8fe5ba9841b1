"""Dask: threads and processes, to Parquet; a worker's folder that differs from the client's is refused by name."""
import dask
import dask.dataframe as dd
import lib
import pyarrow as pa
import pyarrow.parquet as pq
from roformer_c import dask as engine


def main() -> None:
    rows = lib.table()
    wanted = lib.expected(rows)
    frame = dd.from_pandas(rows.to_pandas(), npartitions=5)
    found = engine.embed(frame, lib.MODEL)
    assert found._meta.columns.tolist() == ["id", "text", "embedding"]
    for scheduler in ("threads", "processes"):
        with dask.config.set(scheduler=scheduler, num_workers=2):
            lib.compare_table(pa.Table.from_pandas(found.compute()), wanted)
    found.to_parquet(lib.WORK / "out", write_index=False)
    written = pq.read_table(lib.WORK / "out")
    lib.compare(written["id"].to_pylist(), written["embedding"].to_pylist(), wanted)
    mine = lib.copy_model("mine")
    late = engine.embed(frame, mine)
    with open(mine + "/vocab.txt", "a", encoding="utf-8") as file:
        file.write("another\n")
    with dask.config.set(scheduler="processes", num_workers=1):
        lib.refused(late.compute, "mine: file vocab.txt: expected the content that the driver has")


if __name__ == "__main__":                  # processes import this file
    main()
