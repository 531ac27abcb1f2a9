-- For bench/projection: reads through the cache and without it, and writes beside it.  The
-- documents are those of bench/read.

-- Reads n documents of a kind, spread over all of them.
CREATE PROCEDURE bench.read(n int, what text, of_kind text) LANGUAGE plpgsql AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT uuid FROM bench.copy AS c WHERE c.kind = of_kind ORDER BY c.n);
	size int := cardinality(ids);
	dummy text;
BEGIN
	PERFORM set_config('dms.cache_reads', CASE what WHEN 'cache' THEN 'on' ELSE 'off' END, false);
	FOR i IN 1 .. n LOOP
		IF what = 'jsonb' THEN
			SELECT s.body::text INTO dummy FROM bench.stored AS s WHERE s.id = ids[1 + (i::bigint * 7919) % size];
		ELSE
			SELECT dms.get_document(ids[1 + (i::bigint * 7919) % size]) INTO dummy;
		END IF;
	END LOOP;
END $$;

-- Reads n pages of 25 documents of a resource.
CREATE PROCEDURE bench.page(n int, what text, resource text) LANGUAGE plpgsql AS $$
DECLARE
	last uuid;
	ids uuid[] := ARRAY(SELECT uuid FROM bench.copy AS c WHERE c.kind = CASE page.resource WHEN 'students' THEN 'wide' ELSE 'enrollment' END ORDER BY c.n LIMIT 900);
BEGIN
	PERFORM set_config('dms.cache_reads', CASE what WHEN 'cache' THEN 'on' ELSE 'off' END, false);
	FOR i IN 1 .. n LOOP
		PERFORM length(q::text) FROM dms.query_documents('ed-fi', page.resource, page_limit => 25, after => ids[1 + i % 900]) AS q;
	END LOOP;
END $$;

-- Students, each written in a transaction of its own.
CREATE SEQUENCE bench.student;
CREATE FUNCTION bench.student(n bigint, name text) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('studentUniqueId', 'bench' || n, 'firstName', name, 'lastSurname', 'Byron', 'birthDate', '2010-12-10',
		'birthSexDescriptor', 'uri://ed-fi.org/SexDescriptor#Value 1',
		'personReference', json_build_object('personId', 'p1', 'sourceSystemDescriptor', 'uri://ed-fi.org/SourceSystemDescriptor#Value 1'),
		'otherNames', json_build_array(json_build_object('otherNameTypeDescriptor', 'uri://ed-fi.org/OtherNameTypeDescriptor#Value 1',
			'firstName', 'Ada', 'lastSurname', 'Lovelace')))
$$;
CREATE PROCEDURE bench.make(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM dms.upsert_document('ed-fi', 'students', bench.student(nextval('bench.student'), 'Ada'));
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE bench.change(n int, name text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM dms.upsert_document('ed-fi', 'students', bench.student(i, name));
		COMMIT;
	END LOOP;
END $$;

-- What the projector is compared with: the same rows, whose texts are there already.
CREATE TABLE bench.texts (LIKE dms.DocumentCache INCLUDING ALL);
CREATE PROCEDURE bench.copy_rows() LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE bench.texts;
	INSERT INTO bench.texts SELECT * FROM dms.DocumentCache;
END $$;

-- Documents written at a rate, and how long after each write its row was there.
CREATE TABLE bench.lag (lag interval);
CREATE FUNCTION bench.note_lag() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO bench.lag VALUES (clock_timestamp() - NEW.LastModifiedAt);
	RETURN NULL;
END $$;
CREATE PROCEDURE bench.write_at(rate int, seconds int) LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
	due double precision;
BEGIN
	FOR i IN 1 .. rate * seconds LOOP
		PERFORM dms.upsert_document('ed-fi', 'students', bench.student(1 + i % 1000, 'lag ' || i));
		COMMIT;
		due := i::double precision / rate - extract(epoch FROM clock_timestamp() - start);
		IF due > 0 THEN
			PERFORM pg_sleep(due);
		END IF;
	END LOOP;
END $$;
