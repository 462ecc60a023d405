

def test_folds_of_a_file_whose_number_is_damaged_are_brought_up_to_date(tmp_path):
    damaged, fresh = tmp_path / "damaged.db", tmp_path / "fresh.db"
    body = bytearray(gzip.decompress((DATABASES / "schema-1.db.gz").read_bytes()))
    body[60:64] = bytes(4)  # the number of the schema, in the header of the file
    damaged.write_bytes(body)
    salvage(damaged, fresh)
    with open_store(fresh, synchronous="NORMAL") as store:
        assert len(store.folds()) == len([each for each in store.folds() if each.fold.prefix_digest])
        assert store.check() == []
