-- Enrollments that come and go, pages of documents, and sections that are renamed, for
-- bench/changes; after cascade-data.sql.

CREATE PROCEDURE bench_insert(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		PERFORM dms.upsert_document('Ed-Fi', 'StudentSectionAssociation', json_build_object('beginDate', '2029-09-01',
			'sectionReference', json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall',
				'sectionIdentifier', 'pages'), 'studentReference', json_build_object('studentUniqueId', 's' || i)));
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE bench_update(n int, value text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		PERFORM dms.upsert_document('Ed-Fi', 'StudentSectionAssociation', json_build_object('beginDate', '2029-09-01', 'endDate', value,
			'sectionReference', json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall',
				'sectionIdentifier', 'pages'), 'studentReference', json_build_object('studentUniqueId', 's' || i)));
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE bench_delete() LANGUAGE plpgsql AS $$
DECLARE
	id uuid;
BEGIN
	FOREACH id IN ARRAY ARRAY(
		SELECT d.DocumentUuid FROM dms.Document AS d JOIN edfi.StudentSectionAssociation AS a USING (DocumentId)
		WHERE a.BeginDate = DATE '2029-09-01')
	LOOP
		PERFORM dms.delete_document(id);
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE bench_rename(size int, n int, name text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		CALL rename(size, name || i);
		COMMIT;
	END LOOP;
END $$;

SELECT write('Section', json_build_object('sectionIdentifier', 'pages', 'courseOfferingReference',
	json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall'))::text);
VACUUM ANALYZE;
