-- Constraints that an owner adds hold for rows that are written without statements.
-- Each is added in turn, and the same call is made by statements and directly.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_direct_constraints;
CREATE DATABASE dms_direct_constraints TEMPLATE template0 ENCODING 'UTF8';
\c dms_direct_constraints
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SELECT count(dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor', json_build_object('namespace',
	'uri://ed-fi.org/AddressTypeDescriptor', 'codeValue', n::text, 'shortDescription', 'Home'))) FROM generate_series(1, 70) AS n;

-- A student with some addresses; each write returns its outcome.
CREATE FUNCTION write_student(id text, addresses integer, middle_name text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', json_strip_nulls(json_build_object('studentUniqueId', id,
		'firstName', 'Ann', 'middleName', middle_name, 'lastSurname', 'Lee', 'birthDate', '2010-05-31', 'addresses',
		(SELECT json_agg(json_build_object('addressTypeDescriptor', 'uri://ed-fi.org/AddressTypeDescriptor#' || n,
			'streetNumberName', n || ' Elm Street', 'city', 'Grand Bend', 'postalCode', '78834'))
		 FROM generate_series(1, addresses) AS n))))
$$;

-- Adds a property, evaluates a query by statements and directly, and takes everything back.
CREATE FUNCTION compare(property text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	direct text;
	result text;
	table_name text;
	constraint_name text;
BEGIN
	FOREACH direct IN ARRAY '{off,on}'::text[]
	LOOP
		PERFORM set_config('dms.direct_access', direct, true);
		BEGIN
			EXECUTE property;
			EXECUTE query INTO result;
			RAISE EXCEPTION USING errcode = 'UNDO1';
		EXCEPTION
			WHEN SQLSTATE 'UNDO1' THEN
				RETURN NEXT result;
			WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS table_name = TABLE_NAME, constraint_name = CONSTRAINT_NAME;
				RETURN NEXT concat_ws(' ', SQLSTATE, SQLERRM, table_name, constraint_name);
		END;
	END LOOP;
END $$;

-- NOT NULL, in a table of a few rows and in one of many, and in the row of the document.
SELECT compare('ALTER TABLE edfi.StudentAddress ADD extra integer NOT NULL', 'SELECT write_student(''1'', 1)');
SELECT compare('ALTER TABLE edfi.StudentAddress ADD extra integer NOT NULL', 'SELECT write_student(''1'', 70)');
SELECT compare('TRUNCATE dms.Document CASCADE; ALTER TABLE dms.Document ADD extra integer NOT NULL',
	'SELECT write_student(''1'', 0)');
SELECT compare('ALTER TABLE dms.Document ALTER Etag DROP DEFAULT', 'SELECT write_student(''1'', 0)');
SELECT compare('ALTER TABLE dms.IdentityLock ADD extra integer; UPDATE dms.IdentityLock SET extra = 1;
	ALTER TABLE dms.IdentityLock ALTER extra SET NOT NULL', 'SELECT write_student(''1'', 0)');

-- An identity column that takes no values.
SELECT compare('ALTER TABLE dms.Document ALTER DocumentId SET GENERATED ALWAYS', 'SELECT write_student(''1'', 0)');

-- The default of a domain.
SELECT compare('ALTER TABLE edfi.Student ADD extra information_schema.time_stamp; SELECT write_student(''1'', 0)',
	'SELECT extra IS NULL FROM edfi.Student');

-- A row that an update makes enter a unique index.
SELECT compare('CREATE UNIQUE INDEX i ON edfi.Student (BirthDate) WHERE MiddleName IS NOT NULL;
	SELECT write_student(''1'', 0), write_student(''2'', 0), write_student(''1'', 0, ''Mary'')',
	'SELECT write_student(''2'', 0, ''Mary'')');
SELECT compare('CREATE UNIQUE INDEX i ON edfi.Student (BirthDate) WHERE MiddleName IS NULL;
	SELECT write_student(''1'', 0, ''Mary''), write_student(''2'', 0), write_student(''3'', 0, ''Mary'')',
	'SELECT write_student(''1'', 0)');

-- Foreign keys between the tables that have a row for each document: all of these rows
-- are there when they are checked.
SELECT compare(format('ALTER TABLE dms.%s ADD FOREIGN KEY (DocumentId) REFERENCES dms.%s', t, u), 'SELECT write_student(''1'', 1)')
FROM (VALUES ('ReferentialIdentity', 'Document'), ('ReferentialIdentity', 'IdentityLock'), ('IdentityLock', 'Document'),
	('Document', 'IdentityLock')) AS p (t, u);

-- An identity is claimed where ON CONFLICT can claim it.
SELECT compare('ALTER TABLE dms.ReferentialIdentity DROP CONSTRAINT referentialidentity_pkey, ADD CONSTRAINT u UNIQUE (ReferentialId) DEFERRABLE',
	'SELECT write_student(''1'', 0)');
SELECT compare('UPDATE pg_index SET indisvalid = false WHERE indexrelid = ''dms.referentialidentity_pkey''::regclass',
	'SELECT write_student(''1'', 0)');

-- A trigger that writes another document with the same reference, and then deletes
-- what both refer to.
CREATE FUNCTION write_another() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NEW.StudentUniqueId <> '2' THEN
		PERFORM public.write_student('2', 1);
		DELETE FROM edfi.StudentAddress;
		DELETE FROM dms.Descriptor WHERE CodeValue = '1';
	END IF;
	RETURN NULL;
END $$;
SELECT compare('CREATE TRIGGER t AFTER INSERT ON edfi.Student FOR EACH ROW EXECUTE FUNCTION write_another()',
	'SELECT write_student(''1'', 1)');

-- The index of a referenced table is replaced between two writes.
SELECT write_student('1', 1);
REINDEX INDEX CONCURRENTLY dms.descriptor_pkey;
SELECT write_student('1', 2);
SELECT kind FROM dms.audit();

\c :database
DROP DATABASE dms_direct_constraints;
