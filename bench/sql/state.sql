-- What a run did, by what it left behind: how many documents a store has, and
-- the sum of their etags.  A new document adds one to both, a changed one to the
-- second, and one that did not change to neither.

CREATE FUNCTION bench.state(store name, OUT documents bigint, OUT etags bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
	EXECUTE format('SELECT count(*), sum(Etag)::bigint FROM %I.Document', store) INTO documents, etags;
END
$$;
