"""Ray Data: a pool of two actors, one killed at random; a folder that differs from the driver's is refused by name."""
import lib
import pyarrow as pa
import ray
from roformer_c import ray as engine

ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
ray.data.DataContext.get_current().enable_progress_bars = False


class Mortal(engine.Actor):
    """An actor that dies once, after it has computed a batch that it does not return."""

    def __call__(self, table):
        return lib.die_once(super().__call__(table))


rows = lib.table()
wanted = lib.expected(rows)
texts = ray.data.from_arrow(rows).repartition(8)
found = engine.embed(texts, lib.MODEL, actors=2, batch_size=32)
lib.compare_table(pa.concat_tables(ray.get(found.to_arrow_refs())), wanted)
own, engine.Actor = engine.Actor, Mortal
for attempt in range(10):
    found = engine.embed(texts, lib.MODEL, actors=2, batch_size=16)
    lib.compare_table(pa.concat_tables(ray.get(found.to_arrow_refs())), wanted)
    if lib.was_killed():
        break
assert lib.was_killed(), "no actor was killed"
engine.Actor = own
mine = lib.copy_model("mine")
late = engine.embed(texts, mine)
with open(mine + "/vocab.txt", "a", encoding="utf-8") as file:
    file.write("another\n")
lib.refused(late.materialize, "mine: file vocab.txt: expected the content that the driver has")
ray.shutdown()
