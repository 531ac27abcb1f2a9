-- What bench/foreign-keys measures: the rows of an enrollment by plain SQL, on a
-- store whose bookkeeping is tied to dms.Document in one way or another.

CREATE SCHEMA bench;

-- The rows that every document has.
CREATE FUNCTION bench.document(id bigint, resource text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
		VALUES (id, gen_random_uuid(), 'Ed-Fi', resource, '1.0.0');
	INSERT INTO dms.IdentityLock VALUES (id);
	INSERT INTO dms.ReferentialIdentity VALUES (gen_random_uuid(), id, 'Ed-Fi', resource);
END $$;

CREATE FUNCTION bench.descriptor(id bigint, resource text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bench.document(id, resource);
	INSERT INTO dms.Descriptor (DocumentId, Namespace, CodeValue, ShortDescription, Discriminator, Uri)
		VALUES (id, 'uri://bench', id::text, id::text, 'Ed-Fi:' || resource, 'uri://bench#' || id);
END $$;

-- Something to refer to: descriptors 1 to 100, schools from 1,001, students from
-- 10,001.
CREATE PROCEDURE bench.fill(schools int, students int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bench.descriptor(i, 'GradeLevelDescriptor') FROM generate_series(1, 100) AS i;
	FOR i IN 1001 .. 1000 + schools LOOP
		PERFORM bench.document(i, 'School');
		INSERT INTO edfi.EducationOrganization_Member VALUES (i, 'Ed-Fi:School');
		INSERT INTO edfi.School (DocumentId, SchoolId, NameOfInstitution) VALUES (i, i, 'School ' || i);
	END LOOP;
	FOR i IN 10001 .. 10000 + students LOOP
		PERFORM bench.document(i, 'Student');
		INSERT INTO edfi.Student (DocumentId, StudentUniqueId, FirstName, LastSurname, BirthDate)
			VALUES (i, i::text, 'First', 'Last', '2010-01-01');
	END LOOP;
	INSERT INTO dms.EdgeSource (EdgeSourceId, EdgeSourceKey) SELECT i, 'bench ' || i FROM generate_series(1, 5) AS i;
END $$;

-- An enrollment: its own rows, and edges to a school, a student and three
-- descriptors.
CREATE FUNCTION bench.enroll(id bigint, schools int, students int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	school bigint := 1001 + id % schools;
	student bigint := 10001 + id % students;
BEGIN
	PERFORM bench.document(id, 'StudentSchoolAssociation');
	INSERT INTO edfi.StudentSchoolAssociation (DocumentId, EntryDate, School_DocumentId, Student_DocumentId,
			EntryGradeLevelDescriptor_DescriptorId, EntryTypeDescriptor_DescriptorId, ExitWithdrawTypeDescriptor_DescriptorId)
		VALUES (id, '2000-01-01'::date + (id / students)::int, school, student, 1 + id % 100, 1 + id % 99, 1 + id % 98);
	INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
		VALUES (id, school, 1, true), (id, student, 2, true), (id, 1 + id % 100, 3, false), (id, 1 + id % 99, 4, false), (id, 1 + id % 98, 5, false);
END $$;

-- CPU seconds that this session has used.  Unlike those on the wall, they do
-- not depend much on what else the machine does.
CREATE FUNCTION bench.cpu() RETURNS float8 LANGUAGE sql VOLATILE AS
$$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e9 $$;

-- How many CPU seconds n enrollments, and n deletes take.
CREATE FUNCTION bench.insert_seconds(start bigint, n int, schools int, students int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	began float8 := bench.cpu();
BEGIN
	PERFORM bench.enroll(i, schools, students) FROM generate_series(start, start + n - 1) AS i;
	RETURN bench.cpu() - began;
END $$;
CREATE FUNCTION bench.delete_seconds(start bigint, n int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	began float8 := bench.cpu();
BEGIN
	FOR i IN start .. start + n - 1 LOOP
		DELETE FROM dms.Document WHERE DocumentId = i;
	END LOOP;
	RETURN bench.cpu() - began;
END $$;

-- Foreign keys instead of triggers: 'core' for the rows of the core tables only,
-- 'all' for the rows of all root and member tables too.
CREATE PROCEDURE bench.use_keys(which text) LANGUAGE plpgsql AS $$
DECLARE
	t regclass;
BEGIN
	ALTER TABLE dms.ReferentialIdentity ADD FOREIGN KEY (DocumentId) REFERENCES dms.Document ON DELETE CASCADE;
	ALTER TABLE dms.IdentityLock ADD FOREIGN KEY (DocumentId) REFERENCES dms.Document ON DELETE CASCADE;
	ALTER TABLE dms.ReferenceEdge
		ADD FOREIGN KEY (ParentDocumentId) REFERENCES dms.Document ON DELETE CASCADE,
		ADD FOREIGN KEY (ChildDocumentId) REFERENCES dms.Document,
		ADD FOREIGN KEY (EdgeSourceId) REFERENCES dms.EdgeSource;
	ALTER TABLE dms.Descriptor ADD FOREIGN KEY (DocumentId) REFERENCES dms.Document ON DELETE CASCADE;
	DROP TRIGGER document_before_delete ON dms.Document;
	IF which = 'core' THEN
		RETURN;
	END IF;
	FOR t IN
		SELECT DISTINCT c.oid FROM dms.ResourceModel
			JOIN pg_namespace n ON nspname IN (TableSchema, MemberSchema)
			JOIN pg_class c ON relnamespace = n.oid AND relkind = 'r' AND relname IN (TableName, MemberTable)
		WHERE nspname <> 'dms'
	LOOP
		EXECUTE format('ALTER TABLE %s ADD FOREIGN KEY (DocumentId) REFERENCES dms.Document ON DELETE CASCADE', t);
	END LOOP;
	DROP TRIGGER document_after_delete ON dms.Document;
END $$;
