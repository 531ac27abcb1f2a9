-- Writes and reads of single enrollments for bench/scale; after data.sql and cpu.sql.

CREATE SEQUENCE bench.written;

-- write_year YEAR: one enrollment of each of the first students.
CREATE PROCEDURE bench.write_year(students int, year int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation',
		bench.body(n, 1 + n % 200, DATE '2000-01-01' + year, 1 + n % 92, 1 + n % 99, DATE '2000-06-30' + year)::json)
	FROM generate_series(1, students) AS n;
END $$;

-- A new enrollment of a student at a school.  The students are those of data.sql.
CREATE FUNCTION bench.write_new(students int, school int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int := nextval('bench.written');
BEGIN
	RETURN dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation',
		bench.body(1 + (n * 7919::bigint % students)::int, school, DATE '2100-01-01' + n / students, 1 + n % 92, 1 + n % 99,
			DATE '2200-06-30')::json);
END $$;

CREATE PROCEDURE bench.write_many(students int, n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		PERFORM bench.write_new(students, 1 + i % 200);
		COMMIT;
	END LOOP;
END $$;

-- The ids of some documents, from anywhere in the store.
CREATE FUNCTION bench.some_ids(n int) RETURNS uuid[] LANGUAGE sql AS $$
	SELECT array_agg(d.DocumentUuid ORDER BY hashint8(d.DocumentId))
	FROM (SELECT min(DocumentId) AS least, max(DocumentId) AS greatest FROM edfi.StudentSchoolAssociation) AS r,
		generate_series(1, n) AS i, dms.Document AS d
	WHERE d.DocumentId = (SELECT a.DocumentId FROM edfi.StudentSchoolAssociation AS a
		WHERE a.DocumentId >= r.least + (r.greatest - r.least) * i / n ORDER BY a.DocumentId LIMIT 1)
$$;

CREATE PROCEDURE bench.get_many(ids uuid[]) LANGUAGE plpgsql AS $$
DECLARE
	id uuid;
BEGIN
	FOREACH id IN ARRAY ids LOOP
		PERFORM dms.get_document(id);
		COMMIT;
	END LOOP;
END $$;

-- The same documents as jsonb, and reading them.
CREATE TABLE bench.stored (id uuid PRIMARY KEY, body jsonb NOT NULL);

CREATE PROCEDURE bench.store() LANGUAGE sql AS $$
	INSERT INTO bench.stored
	SELECT d.DocumentUuid, dms.get_document(d.DocumentUuid)
	FROM dms.Document AS d JOIN edfi.StudentSchoolAssociation USING (DocumentId)
	ON CONFLICT DO NOTHING
$$;

CREATE PROCEDURE bench.get_stored(ids uuid[]) LANGUAGE plpgsql AS $$
DECLARE
	wanted uuid;
BEGIN
	FOREACH wanted IN ARRAY ids LOOP
		PERFORM body::text FROM bench.stored WHERE id = wanted;
		COMMIT;
	END LOOP;
END $$;
