-- Enrollments that come and go, for bench/delete.

CREATE PROCEDURE bench.insert(n integer)
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		PERFORM dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation',
			bench.body(i, 1 + i % 200, DATE '2001-01-01', 1 + i % 92, 1 + i % 99, DATE '2002-06-30')::json);
		COMMIT;
	END LOOP;
END
$$;

CREATE PROCEDURE bench.delete()
LANGUAGE plpgsql AS $$
DECLARE
	id uuid;
BEGIN
	FOREACH id IN ARRAY ARRAY(
		SELECT d.DocumentUuid FROM dms.Document AS d JOIN edfi.StudentSchoolAssociation AS a USING (DocumentId)
		WHERE a.EntryDate = DATE '2001-01-01')
	LOOP
		PERFORM dms.delete_document(id);
		COMMIT;
	END LOOP;
END
$$;
