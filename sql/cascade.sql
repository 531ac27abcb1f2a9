-- A change of identity reaches all documents that depend on it, however many
-- there are, and regardless of what the owner of the store has added to its
-- tables.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_cascade;
CREATE DATABASE dms_cascade TEMPLATE template0 ENCODING 'UTF8';
\c dms_cascade
SET client_min_messages = warning;
CREATE EXTENSION dms;
CREATE EXTENSION amcheck;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

CREATE FUNCTION put(resource text, document json) RETURNS uuid LANGUAGE sql AS $$
	SELECT document_uuid FROM dms.upsert_document('Ed-Fi', resource, document)
$$;
CREATE FUNCTION session(name text) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('sessionName', name, 'schoolReference', json_build_object('schoolId', 1),
		'schoolYearTypeReference', json_build_object('schoolYear', 2025), 'termDescriptor', 'uri://ed-fi.org/TermDescriptor#Fall',
		'beginDate', '2024-08-20', 'endDate', '2024-12-20', 'totalInstructionalDays', 80)
$$;
CREATE FUNCTION offering(code text, session text) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('localCourseCode', code, 'schoolReference', json_build_object('schoolId', 1),
		'courseReference', json_build_object('courseCode', 'ALG', 'educationOrganizationId', 1),
		'sessionReference', json_build_object('schoolId', 1, 'schoolYear', 2025, 'sessionName', session))
$$;
SELECT count(put(resource, document)) FROM (VALUES
	('GradeLevelDescriptor', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth", "shortDescription": "9"}'::json),
	('TermDescriptor', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Fall", "shortDescription": "Fall"}')) AS v (resource, document);
SELECT count(put(resource, document)) FROM (VALUES
	('SchoolYearType', '{"schoolYear": 2025, "currentSchoolYear": true, "schoolYearDescription": "2024-25"}'::json),
	('School', '{"schoolId": 1, "nameOfInstitution": "High School", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth"}]}')) AS v (resource, document);
SELECT count(put('Course', '{"courseCode": "ALG", "courseTitle": "Algebra", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 1}}'));
SELECT put('Session', session('Fall')) AS large, put('Session', session('Spring')) AS small \gset
SELECT count(put('CourseOffering', offering('C' || n, 'Fall'))) FROM generate_series(1, 10050) AS n;
SELECT count(put('CourseOffering', offering('C' || n, 'Spring'))) FROM generate_series(1, 3) AS n;

-- The offerings of each session: their etags, and the number that are found by
-- their current identities.
CREATE VIEW offerings AS
SELECT s.SessionName, count(*), min(d.Etag) AS etag, max(d.Etag) AS no_more,
	count(i.ReferentialId) FILTER (WHERE i.ReferentialId = dms.referential_id('Ed-Fi', 'CourseOffering',
		ARRAY['$.localCourseCode', '$.schoolReference.schoolId', '$.sessionReference.schoolId', '$.sessionReference.schoolYear', '$.sessionReference.sessionName'],
		ARRAY[o.LocalCourseCode, '1', '1', '2025', s.SessionName])) AS found
FROM edfi.CourseOffering AS o JOIN edfi.Session AS s ON s.DocumentId = o.Session_DocumentId
	JOIN dms.Document AS d ON d.DocumentId = o.DocumentId JOIN dms.ReferentialIdentity AS i ON i.DocumentId = o.DocumentId
GROUP BY 1 ORDER BY 1;
SELECT * FROM offerings;

-- Checks that all B-tree indexes of the tables that a cascade writes have an
-- entry for each row.
CREATE VIEW indexes AS
SELECT count(bt_index_check(i.indexrelid, true)) AS sound FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS a ON a.oid = c.relam
WHERE i.indrelid IN ('dms.Document'::regclass, 'dms.ReferentialIdentity'::regclass, 'dms.IdentityLock'::regclass) AND a.amname = 'btree';
SELECT sound FROM indexes;

-- A large cascade reports the number of documents that it reached.
SET client_min_messages = notice;
SELECT outcome, etag FROM dms.update_document(:'large', session('Autumn'));
SET client_min_messages = warning;
SELECT * FROM offerings;
SELECT sound FROM indexes;
SELECT * FROM dms.audit();
-- Consecutive ids are read together; gaps between them must not end the scan.
BEGIN;
SELECT count(dms.delete_document(d.DocumentUuid)) FROM dms.Document AS d JOIN edfi.CourseOffering AS o USING (DocumentId)
	JOIN edfi.Session AS s ON s.DocumentId = o.Session_DocumentId WHERE s.SessionName = 'Autumn' AND o.LocalCourseCode LIKE '%500';
SELECT outcome FROM dms.update_document(:'large', session('Winter'));
SELECT * FROM offerings;
ROLLBACK;
-- The time of the last change increases with the etag.
SELECT count(*) FROM dms.Document WHERE Etag > 1 AND LastModifiedAt <= CreatedAt;

--
-- Triggers, rules, columns, constraints and indexes that the owner adds apply
-- to cascades.
--
-- Triggers fire for every row.
BEGIN;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE WARNING '% % % %', TG_TABLE_NAME, TG_WHEN, TG_OP, TG_LEVEL;
	RETURN NEW;
END $$;
CREATE TRIGGER before_update BEFORE UPDATE ON dms.Document FOR EACH ROW EXECUTE FUNCTION tell();
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT * FROM offerings WHERE SessionName = 'Summer';
ROLLBACK;
BEGIN;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE WARNING '% % % %: %', TG_TABLE_NAME, TG_WHEN, TG_OP, TG_LEVEL, (SELECT count(*) FROM rows);
	RETURN NULL;
END $$;
CREATE TRIGGER after_update AFTER UPDATE ON dms.Document REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER after_insert AFTER INSERT ON dms.ReferentialIdentity REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER after_delete AFTER DELETE ON dms.ReferentialIdentity REFERENCING OLD TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION tell();
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT * FROM offerings WHERE SessionName = 'Summer';
ROLLBACK;

-- Rules are applied.
BEGIN;
CREATE TABLE log (what text, document bigint);
CREATE RULE coming AS ON INSERT TO dms.ReferentialIdentity DO ALSO INSERT INTO log VALUES ('coming', NEW.DocumentId);
CREATE RULE going AS ON DELETE TO dms.ReferentialIdentity DO ALSO INSERT INTO log VALUES ('going', OLD.DocumentId);
CREATE RULE growing AS ON UPDATE TO dms.Document DO ALSO INSERT INTO log VALUES ('growing', OLD.DocumentId);
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT what, count(*) FROM log GROUP BY 1 ORDER BY 1;
ROLLBACK;

-- New rows get the defaults of columns, and generated columns are computed.
BEGIN;
ALTER TABLE dms.ReferentialIdentity ADD Since text DEFAULT 'then';
ALTER TABLE dms.ReferentialIdentity ALTER Since SET DEFAULT 'now';
ALTER TABLE dms.Document ADD Twice bigint GENERATED ALWAYS AS (Etag * 2) STORED;
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT d.ResourceName, i.Since, d.Etag, d.Twice FROM dms.ReferentialIdentity AS i JOIN dms.Document AS d USING (DocumentId)
	JOIN edfi.CourseOffering AS o USING (DocumentId) JOIN edfi.Session AS s ON s.DocumentId = o.Session_DocumentId WHERE s.SessionName = 'Summer';
ROLLBACK;
-- Rows keep the value of a column that was added without rewriting the table.
BEGIN;
ALTER TABLE dms.Document ADD Origin text DEFAULT 'before';
ALTER TABLE dms.Document ALTER Origin SET DEFAULT 'after';
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT Origin, count(*) FROM dms.Document GROUP BY 1;
ROLLBACK;

-- Values are converted to the types of the columns.
BEGIN;
DROP VIEW dms.Record;
ALTER TABLE dms.Document ALTER LastModifiedAt TYPE timestamptz(0);
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT count(*) FROM dms.Document WHERE LastModifiedAt <> date_trunc('second', LastModifiedAt);
ROLLBACK;
BEGIN;
ALTER TABLE dms.ReferentialIdentity ALTER ResourceName TYPE char(40);
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT octet_length(ResourceName), count(*) FROM dms.ReferentialIdentity GROUP BY 1;
ROLLBACK;

-- Check constraints are enforced.
BEGIN;
ALTER TABLE dms.Document ADD CONSTRAINT offerings_stay CHECK (ResourceName <> 'CourseOffering' OR Etag < 2) NOT VALID;
\set VERBOSITY terse
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
\set VERBOSITY default
ROLLBACK;

-- Indexes of all kinds are maintained: on changing columns, on an expression,
-- partial, of another access method, and deferrable.
BEGIN;
CREATE INDEX by_etag ON dms.Document (Etag DESC, ResourceName) INCLUDE (DocumentUuid);
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT sound FROM indexes;
ROLLBACK;
BEGIN;
CREATE INDEX by_expression ON dms.Document ((Etag % 2));
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT sound FROM indexes;
ROLLBACK;
BEGIN;
CREATE INDEX of_some ON dms.Document (DocumentId) WHERE Etag = 2;
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT sound FROM indexes;
ROLLBACK;
BEGIN;
ALTER TABLE dms.ReferentialIdentity ADD UNIQUE (ReferentialId, DocumentId) DEFERRABLE INITIALLY DEFERRED;
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SELECT sound FROM indexes;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
BEGIN;
CREATE INDEX by_hash ON dms.Document USING hash (Etag);
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM dms.Document WHERE Etag = 2 AND ResourceName = 'CourseOffering';
SELECT count(*) FROM dms.Document WHERE Etag = 2 AND ResourceName = 'CourseOffering';
ROLLBACK;

-- Published tables need a replica identity, as for any other UPDATE or DELETE.
SET client_min_messages = error;
BEGIN;
ALTER TABLE dms.Document REPLICA IDENTITY NOTHING;
CREATE PUBLICATION all_changes FOR TABLE dms.Document;
\set VERBOSITY terse
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
ROLLBACK;
BEGIN;
UPDATE dms.ReferentialIdentity SET ReferentialId = '11111111-1111-1111-1111-111111111111' FROM dms.Document AS d
WHERE d.DocumentId = ReferentialIdentity.DocumentId AND d.DocumentUuid = :'small' RETURNING d.DocumentId AS wrong \gset
ALTER TABLE dms.ReferentialIdentity REPLICA IDENTITY NOTHING;
CREATE PUBLICATION all_changes FOR TABLE dms.ReferentialIdentity;
SELECT dms.recompute_identities(ARRAY[:wrong]);
ROLLBACK;
\set VERBOSITY default

-- A document whose rows are missing has no identity to be recomputed.
BEGIN;
DELETE FROM edfi.CourseOffering WHERE DocumentId = (SELECT max(DocumentId) FROM edfi.CourseOffering) RETURNING DocumentId AS lost \gset
SELECT dms.recompute_identities(ARRAY[:lost]);
ROLLBACK;

-- If raw SQL has given a document the identity that another one would get, the
-- error names both.
BEGIN;
SET LOCAL client_min_messages = warning;
UPDATE dms.ReferentialIdentity SET ReferentialId = dms.referential_id('Ed-Fi', 'CourseOffering',
	ARRAY['$.localCourseCode', '$.schoolReference.schoolId', '$.sessionReference.schoolId', '$.sessionReference.schoolYear', '$.sessionReference.sessionName'],
	ARRAY['C2', '1', '1', '2025', 'Summer']) WHERE ResourceName = 'Course';
\set VERBOSITY terse
DO $$
DECLARE
	small uuid := (SELECT DocumentUuid FROM dms.Document JOIN edfi.Session USING (DocumentId) WHERE SessionName = 'Spring');
	detail json;
BEGIN
	PERFORM dms.update_document(small, session('Summer'));
EXCEPTION WHEN unique_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RAISE WARNING '%: %', SQLERRM, regexp_replace(detail ->> 'errors', 'ocument [0-9]+', 'ocument N', 'g');
	RAISE WARNING 'both documents: %', (SELECT array_agg(d.ResourceName ORDER BY d.ResourceName)
		FROM regexp_matches(detail ->> 'errors', 'ocument ([0-9]+)', 'g') AS m (id) JOIN dms.Document AS d ON d.DocumentId = m.id[1]::bigint);
END $$;
\set VERBOSITY default
ROLLBACK;

-- An etag that is exhausted is an error, as it would be in SQL.
BEGIN;
UPDATE dms.Document SET Etag = 9223372036854775807 FROM edfi.CourseOffering AS o JOIN edfi.Session AS s ON s.DocumentId = o.Session_DocumentId
WHERE Document.DocumentId = o.DocumentId AND s.SessionName = 'Spring' AND o.LocalCourseCode = 'C2';
\set VERBOSITY terse
SELECT outcome FROM dms.update_document(:'small', session('Summer'));
\set VERBOSITY default
ROLLBACK;

-- After all rollbacks nothing has changed.
SELECT * FROM offerings;
SELECT sound FROM indexes;
SELECT * FROM dms.audit();

\c :database
DROP DATABASE dms_cascade;
