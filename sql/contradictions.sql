-- Stores that contradict themselves, and code of their owner that fails: every
-- answer says what is wrong, and nothing is made worse.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_contradictions;
CREATE DATABASE dms_contradictions TEMPLATE template0 ENCODING 'UTF8';
\c dms_contradictions
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/cascade.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\set VERBOSITY terse
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION uuid_of(id bigint) RETURNS uuid LANGUAGE sql AS $$
	SELECT DocumentUuid FROM dms.Document WHERE DocumentId = $1
$$;
SELECT outcome, document_id FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "East"}');
SELECT outcome, document_id FROM dms.upsert_document('Cascade', 'Session',
	'{"schoolReference": {"schoolId": 11}, "sessionName": "Fall"}');
SELECT outcome, document_id FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 12, "name": "West"}');

-- A trigger of the owner fails with the SQLSTATE of a foreign key: its error is reported as it is.
CREATE FUNCTION public.archive() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 999}, "sessionName": "Archive"}');
	RETURN OLD;
END $$;
CREATE TRIGGER archive BEFORE DELETE ON dms.Document FOR EACH ROW EXECUTE FUNCTION public.archive();
SELECT dms.delete_document(uuid_of(2));
CREATE OR REPLACE FUNCTION public.archive() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE foreign_key_violation;
END $$;
SELECT dms.delete_document(uuid_of(2));
DROP TRIGGER archive ON dms.Document;

-- A call in a trigger fails because an identity is taken: the error is about that call.
CREATE FUNCTION public.nest() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM dms.update_document((SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 1), '{"schoolId": 12, "name": "East"}');
	RETURN NEW;
END $$;
CREATE TRIGGER nest BEFORE INSERT ON cascade.Session FOR EACH ROW EXECUTE FUNCTION public.nest();
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 12}, "sessionName": "Spring"}');
DROP TRIGGER nest ON cascade.Session;

-- Repairs read by statements where an index alone does not tell all rows.
BEGIN;
CREATE TABLE public.child () INHERITS (dms.Document);
DROP TABLE public.child;
DELETE FROM dms.ReferentialIdentity;
SELECT kind, count(*) FROM dms.audit() GROUP BY 1;
SELECT * FROM dms.repair();
SELECT kind FROM dms.audit();
ROLLBACK;

-- Two rows where a key was dropped: no identity is made of one of them.
BEGIN;
ALTER TABLE cascade.School DROP CONSTRAINT school_pk CASCADE;
ALTER TABLE cascade.School DROP CONSTRAINT IF EXISTS school_nk;
CREATE INDEX ON cascade.School (DocumentId);
INSERT INTO cascade.School (DocumentId, SchoolId, Name) VALUES (1, 99, 'Twin');
SELECT dms.recompute_identities(ARRAY[2]);
ROLLBACK;

-- An identity under the name of another resource.
BEGIN;
UPDATE dms.ReferentialIdentity SET ResourceName = 'Bogus' WHERE DocumentId = 2;
SELECT dms.recompute_identities(ARRAY[2]);
ROLLBACK;

-- The name of a resource that is not deployed is damage (XX001).
BEGIN;
UPDATE dms.Document SET ResourceName = 'Bogus' WHERE DocumentId = 1;
\set VERBOSITY sqlstate
SELECT dms.recompute_identities(ARRAY[1]);
\set VERBOSITY terse
ROLLBACK;

-- Names in padded columns; School has a superclass, and so two names.
BEGIN;
ALTER TABLE dms.ReferentialIdentity ALTER ProjectName TYPE char(64), ALTER ResourceName TYPE char(64);
SELECT outcome FROM dms.update_document(uuid_of(1), '{"schoolId": 13, "name": "East"}');
SELECT outcome FROM dms.update_document(uuid_of(1), '{"schoolId": 13, "name": "East"}');
SELECT kind FROM dms.audit();
ROLLBACK;

-- Edges that run against the order of identities: a change still finds each member once.
SELECT outcome, document_id FROM dms.upsert_document('Cascade', 'Session',
	'{"schoolReference": {"schoolId": 11}, "sessionName": "Winter"}');
SELECT outcome, document_id FROM dms.upsert_document('Cascade', 'Session',
	'{"schoolReference": {"schoolId": 11}, "sessionName": "Summer"}');
BEGIN;
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
SELECT e.parent, e.child, s.EdgeSourceId, true
FROM dms.EdgeSource AS s,
	(SELECT max(DocumentId) - 1 AS child, max(DocumentId) AS last FROM dms.Document) AS d,
	LATERAL (VALUES (2::bigint, d.child), (d.child, d.last)) AS e (parent, child)
WHERE s.EdgeSourceKey = 'Cascade.Session:docref:$.schoolReference';
SELECT outcome FROM dms.update_document(uuid_of((SELECT max(DocumentId) FROM dms.Document)),
	'{"schoolReference": {"schoolId": 11}, "sessionName": "X"}');
ROLLBACK;

-- A name may end in a blank.
\c template1
SET client_min_messages = warning;
DROP DATABASE dms_contradictions;
CREATE DATABASE dms_contradictions TEMPLATE template0 ENCODING 'UTF8';
\c dms_contradictions
SET client_min_messages = warning;
\set VERBOSITY terse
CREATE EXTENSION dms;
SELECT dms.deploy_schema(replace(:'schema', '"Cascade"', '"Cascade "')::json) IS NOT NULL AS deployed;
SELECT outcome FROM dms.upsert_document('Cascade ', 'School', '{"schoolId": 11, "name": "East"}');
SELECT outcome FROM dms.update_document((SELECT DocumentUuid FROM dms.Document), '{"schoolId": 11, "name": "East"}');
SELECT dms.recompute_identities(ARRAY[1]);
SELECT outcome FROM dms.update_document((SELECT DocumentUuid FROM dms.Document), '{"schoolId": 12, "name": "East"}');
SELECT kind FROM dms.audit();
