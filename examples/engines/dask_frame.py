"""dask_frame.py IN.parquet OUT [FOLDER] — vectors of the column "text" with Dask, in two processes"""
import sys

import dask
import dask.dataframe

import roformer_c.dask

if __name__ == "__main__":
    source, to, folder = (sys.argv[1:] + ["roformer-small-en-sentences"])[:3]
    dask.config.set(scheduler="processes", num_workers=2)
    frame = dask.dataframe.read_parquet(source)
    roformer_c.dask.embed(frame, folder, normalize_embeddings=True).to_parquet(to, write_index=False)
