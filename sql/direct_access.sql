-- Rows are written without statements where a statement would do nothing else.  If
-- the owner adds something to a table, a statement does the work.  Either way the
-- result is the same: here each property is given to the tables in turn, and the
-- same calls are made with direct access and without it.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_direct;
CREATE DATABASE dms_direct TEMPLATE template0 ENCODING 'UTF8';
\c dms_direct
SET client_min_messages = error;
SET datestyle = ISO;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
\pset format unaligned
\pset tuples_only on

-- Foreign keys are checked by their index.  PostgreSQL's own checks are planned while
-- the tables are empty, and would read all of each table from then on.
VACUUM ANALYZE;
SELECT FROM pg_stat_force_next_flush();
CREATE TEMP TABLE scans AS SELECT relid, seq_scan FROM pg_stat_user_tables;
CREATE FUNCTION descriptor(resource text, code text) RETURNS text LANGUAGE sql AS $$
	SELECT outcome FROM dms.upsert_document('Ed-Fi', resource, json_build_object(
		'namespace', 'uri://ed-fi.org/' || resource, 'codeValue', code, 'shortDescription', code))
$$;
CREATE FUNCTION association(student text, entry date, plans text[] DEFAULT '{A,B}', leave date DEFAULT NULL)
RETURNS json LANGUAGE sql AS $$
	SELECT json_strip_nulls(json_build_object('studentReference', json_build_object('studentUniqueId', student),
		'schoolReference', json_build_object('schoolId', 1), 'entryDate', entry, 'exitWithdrawDate', leave,
		'entryGradeLevelDescriptor', 'uri://ed-fi.org/GradeLevelDescriptor#One',
		'educationPlans', (SELECT json_agg(json_build_object('educationPlanDescriptor',
			'uri://ed-fi.org/EducationPlanDescriptor#' || p)) FROM unnest(plans) AS p)))
$$;
SELECT descriptor('GradeLevelDescriptor', 'One'), descriptor('EducationPlanDescriptor', p)
FROM unnest('{A,B,C}'::text[]) AS p;
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'School', '{"schoolId": 1, "nameOfInstitution": "First",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#One"}]}');
SELECT count(*) FROM generate_series(1, 9) AS n, dms.upsert_document('Ed-Fi', 'Student', json_build_object(
	'studentUniqueId', n::text, 'firstName', 'First', 'lastSurname', 'Last', 'birthDate', '2014-02-03'));
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation', association('1', '2024-08-01'));
SELECT count(*) FROM generate_series(1, 50) AS n, dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation',
	association('2', '2024-08-01'::date + n));
SELECT pg_stat_force_next_flush();
SELECT t.relname, (t.seq_scan - s.seq_scan) * current_setting('dms.direct_access')::boolean::integer AS scans
FROM pg_stat_user_tables AS t JOIN scans AS s USING (relid)
WHERE t.relname IN ('student', 'school', 'descriptor', 'studentschoolassociation') ORDER BY relname;

-- The calls: each returns its outcome, or all fields of its error.
CREATE FUNCTION call(body json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	e record;
BEGIN
	SELECT NULL::text AS t, NULL::text AS c, NULL::text AS d INTO e;
	RETURN (dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation', body)).outcome;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS e.t = TABLE_NAME, e.c = CONSTRAINT_NAME, e.d = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' ', SQLSTATE, SQLERRM, nullif(e.t, ''), nullif(e.c, ''), e.d);
END $$;
CREATE FUNCTION calls() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(call(body), ', ' ORDER BY n) FROM (VALUES
		(1, association('3', '2024-08-01')),
		(2, association('3', '2024-08-01', '{A,B}', '2024-12-24')),
		(3, association('3', '2024-08-01', '{B,A}', '2024-12-24')),
		(4, association('3', '2024-08-01', '{C}', '2024-12-24')),
		(5, association('3', '2024-08-01', '{C}', '2024-12-24')),
		(6, association('1', '2024-08-01', '{C,B,A}'))) AS t (n, body)
$$;

CREATE TABLE noted (what text);

-- The rows of all tables that the calls write, without ids and times that differ between
-- any two runs.
CREATE FUNCTION stored() RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(regexp_replace(regexp_replace(row,
			'[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}', 'uuid', 'g'),
			'[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[-+.:0-9]*', 'time', 'g'), E'\n' ORDER BY row COLLATE "C"))
	FROM (SELECT 'd' || (t.*, tableoid::regclass)::text FROM dms.Document AS t
		UNION ALL SELECT 'i' || t::text FROM dms.ReferentialIdentity AS t
		UNION ALL SELECT 'e' || t::text FROM dms.ReferenceEdge AS t
		UNION ALL SELECT 'l' || t::text FROM dms.IdentityLock AS t
		UNION ALL SELECT 'a' || t::text FROM edfi.StudentSchoolAssociation AS t
		UNION ALL SELECT 'p' || t::text FROM edfi.StudentSchoolAssociationEducationPlan AS t
		UNION ALL SELECT 'n' || t::text FROM noted AS t) AS rows (row)
$$;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO public.noted VALUES (concat_ws(' ', TG_TABLE_NAME, TG_OP, TG_WHEN, TG_LEVEL));
	RETURN coalesce(NEW, OLD);
END $$;

-- Gives the tables a property, makes the calls, and takes everything back.
CREATE FUNCTION outcome(way text, property text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dms.direct_access', way, true), setval('dms.document_documentid_seq', 1000);
	EXECUTE property;
	RAISE EXCEPTION USING ERRCODE = 'ZZZZZ', MESSAGE = calls() || E'\n' || stored();
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	RETURN SQLERRM;
END $$;
CREATE FUNCTION compare(property text, OUT property_ text, OUT outcome text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	direct text := outcome('on', property);
	by_statements text := outcome('off', property);
BEGIN
	property_ := property;
	outcome := left(split_part(direct, E'\n', 1), 200);
	same := direct = by_statements;
	IF NOT same THEN
		outcome := direct || ' <> ' || by_statements;
	END IF;
END $$;

-- A table as it was deployed.
SELECT * FROM compare('');

-- Triggers, whoever they fire for.
SELECT c.*
FROM unnest('{BEFORE INSERT,AFTER INSERT,BEFORE UPDATE,AFTER UPDATE,AFTER DELETE}'::text[]) AS w, unnest('{ROW,STATEMENT}'::text[]) AS l,
	unnest('{edfi.StudentSchoolAssociation,edfi.StudentSchoolAssociationEducationPlan}'::text[]) AS t,
	compare(format('CREATE TRIGGER t %s ON %s FOR EACH %s EXECUTE FUNCTION note()', w, t, l)) AS c;
SELECT c.*
FROM unnest('{dms.Document,dms.ReferentialIdentity,dms.IdentityLock,dms.ReferenceEdge}'::text[]) AS t,
	compare(format('CREATE TRIGGER t AFTER INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION note()', t)) AS c;
SELECT c.*
FROM unnest('{BEFORE,AFTER}'::text[]) AS w, unnest('{exitwithdrawdate,extra,entrydate}'::text[]) AS n,
	compare(format('ALTER TABLE edfi.StudentSchoolAssociation ADD IF NOT EXISTS extra integer;
		CREATE TRIGGER t %s UPDATE OF %s ON edfi.StudentSchoolAssociation FOR EACH ROW EXECUTE FUNCTION note()', w, n)) AS c;
SELECT * FROM compare('CREATE TRIGGER t AFTER INSERT ON edfi.StudentSchoolAssociation FOR EACH ROW EXECUTE FUNCTION note();
	ALTER TABLE edfi.StudentSchoolAssociation ENABLE REPLICA TRIGGER t');
SELECT * FROM compare('CREATE TRIGGER t AFTER INSERT ON edfi.StudentSchoolAssociation FOR EACH ROW EXECUTE FUNCTION note();
	ALTER TABLE edfi.StudentSchoolAssociation ENABLE ALWAYS TRIGGER t; SET LOCAL session_replication_role = replica');

-- Rules, checks, generated columns, defaults, types.
SELECT c.* FROM (VALUES
	('CREATE RULE r AS ON INSERT TO edfi.StudentSchoolAssociation DO ALSO INSERT INTO noted VALUES (''rule'')'),
	('CREATE RULE r AS ON INSERT TO edfi.StudentSchoolAssociationEducationPlan DO INSTEAD NOTHING'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate IS NULL)'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate > entrydate), ADD CHECK (documentid > 0)'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate IS NULL) NOT VALID'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate < current_date)'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate IS NULL OR tableoid = 1)'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate IS NULL OR
		StudentSchoolAssociation.* IS NOT NULL)'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (exitwithdrawdate IS NULL OR 1 / (documentid - documentid) = 1)'),
	('CREATE FUNCTION public.refuse(date) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
		AS ''SELECT $1 IS NULL'';
		ALTER TABLE edfi.StudentSchoolAssociation ADD CHECK (public.refuse(exitwithdrawdate))'),
	('ALTER TABLE edfi.StudentSchoolAssociationEducationPlan ADD CHECK (educationplandescriptor_descriptorid > 0)'),
	('ALTER TABLE dms.ReferenceEdge ADD CHECK (childdocumentid <> parentdocumentid)'),
	('ALTER TABLE dms.Document ADD CHECK (etag < 1000000000), ADD CHECK (resourcename ~ ''^[A-Z]'')'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra integer GENERATED ALWAYS AS (extract(year FROM entrydate)) STORED'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra text DEFAULT ''fixed'''),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra text DEFAULT upper(''fixed'')'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra text DEFAULT current_user'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra timestamptz NOT NULL DEFAULT now()'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra integer GENERATED ALWAYS AS IDENTITY'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra integer; ALTER TABLE edfi.StudentSchoolAssociation ALTER extra SET DEFAULT 7'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra text NOT NULL DEFAULT ''x''; ALTER TABLE edfi.StudentSchoolAssociation ALTER extra DROP DEFAULT'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD extra integer; ALTER TABLE edfi.StudentSchoolAssociation DROP extra'),
	('ALTER TABLE edfi.StudentSchoolAssociation ALTER fulltimeequivalency TYPE numeric(4,1)'),
	('DROP VIEW dms.Record; ALTER TABLE dms.Document ALTER ResourceVersion TYPE varchar(5)'),
	('ALTER TABLE dms.Document ALTER Etag SET DEFAULT 5'),
	('DROP VIEW dms.Record; ALTER TABLE dms.Document ALTER ProjectName TYPE char(10)'),
	('ALTER TABLE dms.ReferenceEdge ALTER CreatedAt SET DEFAULT ''2001-01-01''')) AS t (p), compare(p) AS c;

-- Indexes.
SELECT c.* FROM (VALUES
	('CREATE INDEX i ON edfi.StudentSchoolAssociation (exitwithdrawdate) WHERE exitwithdrawdate IS NOT NULL'),
	('CREATE INDEX i ON edfi.StudentSchoolAssociation (exitwithdrawdate) WHERE exitwithdrawdate IS NULL'),
	('CREATE INDEX i ON edfi.StudentSchoolAssociation (abs(documentid)) WHERE entrydate > ''2001-01-01'''),
	('CREATE INDEX i ON edfi.StudentSchoolAssociation (abs(student_documentid))'),
	('CREATE INDEX i ON edfi.StudentSchoolAssociation USING hash (entrydate)'),
	('CREATE INDEX i ON edfi.StudentSchoolAssociation USING brin (entrydate)'),
	('CREATE UNIQUE INDEX i ON edfi.StudentSchoolAssociation (exitwithdrawdate)'),
	('CREATE UNIQUE INDEX i ON edfi.StudentSchoolAssociation (student_documentid) WHERE student_documentid > 7'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD EXCLUDE (documentid WITH =)'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD UNIQUE (exitwithdrawdate, documentid) DEFERRABLE INITIALLY DEFERRED')) AS t (p), compare(p) AS c;

-- Foreign keys: of other kinds, not valid, disabled; and their violation.
SELECT c.* FROM (VALUES
	('ALTER TABLE edfi.StudentSchoolAssociation ADD FOREIGN KEY (documentid) REFERENCES dms.Document DEFERRABLE INITIALLY DEFERRED'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD FOREIGN KEY (documentid) REFERENCES dms.IdentityLock NOT VALID'),
	('ALTER TABLE edfi.StudentSchoolAssociation ADD FOREIGN KEY (documentid) REFERENCES dms.Document MATCH FULL'),
	('ALTER TABLE dms.ReferenceEdge ADD FOREIGN KEY (childdocumentid) REFERENCES dms.Document ON DELETE CASCADE'),
	('SET CONSTRAINTS ALL DEFERRED'),
	('DELETE FROM noted; SET LOCAL session_replication_role = replica; DELETE FROM edfi.Student WHERE studentuniqueid = ''3'''),
	('SET LOCAL session_replication_role = replica; DELETE FROM edfi.Student WHERE studentuniqueid = ''3'';
		SET LOCAL session_replication_role = origin'),
	('SET LOCAL session_replication_role = replica; DELETE FROM dms.Descriptor WHERE codevalue IN (''A'', ''C'');
		SET LOCAL session_replication_role = origin'),
	('SET LOCAL session_replication_role = replica; DELETE FROM edfi.Student WHERE studentuniqueid = ''3'';
		SET LOCAL session_replication_role = origin; ALTER TABLE edfi.StudentSchoolAssociation DISABLE TRIGGER ALL')) AS t (p), compare(p) AS c;

-- Kinds of tables, policies, and what is published of them.
SELECT c.* FROM (VALUES
	('CREATE TABLE child () INHERITS (edfi.StudentSchoolAssociation)'),
	('ALTER TABLE edfi.StudentSchoolAssociationEducationPlan SET UNLOGGED'),
	('ALTER TABLE edfi.StudentSchoolAssociation ENABLE ROW LEVEL SECURITY'),
	('ALTER TABLE edfi.StudentSchoolAssociation ENABLE ROW LEVEL SECURITY;
		ALTER TABLE edfi.StudentSchoolAssociation FORCE ROW LEVEL SECURITY'),
	('ALTER TABLE edfi.StudentSchoolAssociation REPLICA IDENTITY FULL'),
	('ALTER TABLE edfi.StudentSchoolAssociation REPLICA IDENTITY NOTHING;
		CREATE PUBLICATION p FOR TABLE edfi.StudentSchoolAssociation')) AS t (p), compare(p) AS c;

-- After all of this, nothing is left behind, and all indexes are complete.
SELECT kind FROM dms.audit();
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'StudentSchoolAssociation', association('9', '2024-08-01'));
CREATE EXTENSION amcheck;
SELECT count(bt_index_check(i.indexrelid, true)) > 50 AS checked
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') AND c.oid > 16384;

-- Only superusers turn direct access off.
CREATE ROLE regress_direct;
SET ROLE regress_direct;
SET dms.direct_access = off;
RESET ROLE;
DROP ROLE regress_direct;

\c :database
DROP DATABASE dms_direct;
