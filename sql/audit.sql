-- dms.audit(): everything in the store that contradicts something else there.
-- Each corruption below is made by hand, told by the audit, mended by
-- dms.repair(), and undone.
\set home :DBNAME
CREATE DATABASE regress_audit TEMPLATE template0 ENCODING 'UTF8';
\c regress_audit
CREATE EXTENSION dms;

-- Without a store there is nothing to check.
\set VERBOSITY terse
SELECT * FROM dms.audit();
SELECT dms.rebuild_edges();
\set VERBOSITY default

\getenv directory PG_ABS_SRCDIR
\set file :directory /test/schemas/cascade.json
\set schema `cat :'file'`
SET client_min_messages = warning;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
RESET client_min_messages;

-- An empty store is well.
SELECT * FROM dms.audit();

-- A few documents: 1 and 2 are descriptors, 3 and 4 organizations.
SELECT document_id, outcome
FROM (VALUES
	(1, 'ColorDescriptor', '{"namespace": "uri://c", "codeValue": "Red", "shortDescription": "red"}'),
	(2, 'ShapeDescriptor', '{"namespace": "uri://s", "codeValue": "Round", "shortDescription": "round"}'),
	(3, 'School', '{"schoolId": 10, "name": "North", "colorDescriptor": "uri://c#Red"}'),
	(4, 'Agency', '{"agencyId": 20, "name": "Agency"}'),
	(5, 'Session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Fall"}'),
	(6, 'Offering', '{"localCode": "ALG", "schoolReference": {"schoolId": 10},
		"sessionReference": {"schoolId": 10, "sessionName": "Fall"}}'),
	(7, 'Flag', '{"colorDescriptor": "uri://c#Red", "shapeDescriptor": "uri://s#Round",
		"organizationReference": {"organizationId": 20}}'),
	(8, 'Note', '{"noteId": 1, "schoolReference": {"schoolId": 10},
		"offerings": [{"offeringReference": {"localCode": "ALG", "schoolId": 10, "sessionName": "Fall"}}]}')
) AS d (n, resource, body),
LATERAL dms.upsert_document('Cascade', d.resource, d.body::json)
ORDER BY n;

-- A store that only the verbs have written to is well, whoever is asked for.
SELECT * FROM dms.audit();
SELECT * FROM dms.audit('cascade');
SELECT * FROM dms.audit('CASCADE', 'OFFERINGS');
SELECT * FROM dms.audit(resource => 'Organization');
SELECT a.* FROM dms.Document AS d, dms.audit(document_uuid => d.DocumentUuid) AS a WHERE d.DocumentId = 6;
SELECT dms.rebuild_edges();

-- Names that nobody has.
\set VERBOSITY sqlstate
SELECT * FROM dms.audit('nowhere');
SELECT * FROM dms.audit('Cascade', 'Nothing');
SELECT * FROM dms.audit(document_uuid => '00000000-0000-0000-0000-000000000000');
SELECT dms.rebuild_edges('Cascade', 'Nothing');
\set VERBOSITY default

-- What the findings below have in common.
CREATE VIEW finding AS
SELECT kind, document_id AS id,
	document_uuid IS NOT DISTINCT FROM (SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = a.document_id)
		AS uuid_fits,
	replace(edge_source_key, 'Cascade.', '') AS source, expected, found
FROM dms.audit() AS a ORDER BY kind COLLATE "C", document_id, edge_source_key COLLATE "C", found COLLATE "C";

--
-- Edges
--

-- An edge is gone: one of the root table, one of a collection.
BEGIN;
DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 8;
TABLE finding;
-- Each filter finds it, where it is.
SELECT kind, document_id FROM dms.audit('Cascade', 'notes');
SELECT kind, document_id FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 8));
SELECT kind, document_id FROM dms.audit('Cascade', 'Offering');
SELECT dms.rebuild_edges('cascade', 'offerings') AS elsewhere, dms.rebuild_edges('cascade', 'NOTES') AS here;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The identity flag is wrong, either way.
BEGIN;
UPDATE dms.ReferenceEdge SET IsIdentityComponent = NOT IsIdentityComponent WHERE ParentDocumentId IN (6, 8);
TABLE finding;
SELECT dms.rebuild_edges();
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- Edges that no column tells of: a known source, one of another resource, an
-- unknown one, a child that is not there, and a parent that is not there.
BEGIN;
INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
SELECT e.parent, e.child, COALESCE((SELECT EdgeSourceId FROM dms.EdgeSource WHERE EdgeSourceKey = e.source), 4711), e.flag
FROM (VALUES
	(8, 4, 'Cascade.Note:docref:$.schoolReference', false),
	(8, 3, 'Cascade.Session:docref:$.schoolReference', true),
	(8, 3, 'nobody knows', false),
	(8, 999, 'Cascade.Note:docref:$.schoolReference', false),
	(1, 2, 'Cascade.Note:docref:$.schoolReference', false),
	(998, 3, 'Cascade.Note:docref:$.schoolReference', true)
) AS e (parent, child, source, flag);
TABLE finding;
SELECT dms.rebuild_edges();
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A source that a deploy wrote has another name, or none.
BEGIN;
UPDATE dms.EdgeSource SET EdgeSourceKey = 'something else' WHERE EdgeSourceKey = 'Cascade.Session:docref:$.schoolReference';
DELETE FROM dms.EdgeSource WHERE EdgeSourceKey = 'Cascade.Flag:desc:$.shapeDescriptor';
SELECT kind, id, source, found FROM finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A reference column was changed by hand: the edge tells of the old document.
BEGIN;
INSERT INTO cascade.organization_member VALUES (3000, 'Cascade:School');
INSERT INTO cascade.school (documentid, schoolid, name) VALUES (3000, 30, 'West');
UPDATE cascade.note SET school_documentid = 3000 WHERE documentid = 8;
SELECT kind, source, expected, found FROM finding WHERE id = 8;
SELECT dms.rebuild_edges('Cascade', 'Note');
SELECT kind, source, expected, found FROM finding WHERE id = 8;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

--
-- Identities
--

-- A ReferentialId is altered; the primary one, and the one of the superclass.
BEGIN;
UPDATE dms.ReferentialIdentity SET ReferentialId = overlay(ReferentialId::text PLACING '00000000' FROM 1)::uuid
WHERE DocumentId IN (3, 6) OR (DocumentId, ResourceName) = (1, 'ColorDescriptor');
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- One is missing, another one is there that should not be.
BEGIN;
DELETE FROM dms.ReferentialIdentity WHERE DocumentId = 4 AND ResourceName = 'Organization';
INSERT INTO dms.ReferentialIdentity VALUES ('11111111-1111-5111-8111-111111111111', 5, 'Cascade', 'Agency');
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A key value was changed by hand: the identities of all that build on it
-- are not what they should be any more.
BEGIN;
UPDATE cascade.session SET sessionname = 'Spring' WHERE documentid = 5;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A row is missing on the way to the values: there is no identity to compare.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM cascade.session WHERE documentid = 5;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

--
-- Lock rows, members, descriptors
--

-- A source that is lost stands in the way of changes only where the reference is a
-- part of an identity, and not in the way of mending it.
\c
BEGIN;
DELETE FROM dms.EdgeSource WHERE EdgeSourceKey = 'Cascade.Note:docref:$.offerings[*].offeringReference';
SELECT * FROM dms.lock_identity_closure(ARRAY[5]);
UPDATE dms.ReferentialIdentity SET ReferentialId = '00000000-0000-5000-8000-000000000000' WHERE DocumentId = 5;
SELECT kind, id FROM finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

BEGIN;
DELETE FROM dms.IdentityLock WHERE DocumentId IN (2, 6);
INSERT INTO dms.IdentityLock VALUES (997);
TABLE finding;
SAVEPOINT before;
SELECT dms.recompute_identities(ARRAY[5, 6]);
ROLLBACK TO before;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- Who meets an identity that was left behind says so, instead of looking for its
-- document without end.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM dms.Document WHERE DocumentId = 5;
SET LOCAL session_replication_role = origin;
SET LOCAL statement_timeout = '10min';
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Fall"}');
ROLLBACK;

BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM cascade.organization_member WHERE documentid = 4;
UPDATE cascade.organization_member SET discriminator = 'Cascade:Agency' WHERE documentid = 3;
INSERT INTO cascade.organization_member VALUES (8, 'Cascade:School'), (996, 'Cascade:Agency');
TABLE finding;
SELECT kind, document_id FROM dms.audit('Cascade', 'School') ORDER BY 1, 2;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

BEGIN;
UPDATE dms.Descriptor SET Uri = 'uri://c#Blue' WHERE DocumentId = 1;
UPDATE dms.Descriptor SET CodeValue = 'round' WHERE DocumentId = 2;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A descriptor of another type than its document.
BEGIN;
UPDATE dms.Descriptor SET Discriminator = 'Cascade:ColorDescriptor' WHERE DocumentId = 2;
SELECT kind, id, expected, found FROM finding WHERE kind LIKE 'document%';
UPDATE dms.Descriptor SET Discriminator = 'Cascade:Taste' WHERE DocumentId = 2;
SELECT kind, id, expected, found FROM finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

--
-- Orphans
--

-- The document is gone, and all that belonged to it stayed.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM dms.Document WHERE DocumentId = 7;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The same of a document that others refer to.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM dms.Document WHERE DocumentId = 2;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The row is gone, and the document stayed.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM cascade.flag WHERE documentid = 7;
TABLE finding;
SELECT kind, document_id FROM dms.audit('Cascade', 'Flag');
SELECT kind, document_id FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 7));
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- Nobody knows the resource of a document.
BEGIN;
INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
VALUES (995, dms.uuid_v7(), 'Cascade', 'Comet', '1');
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- All is well again.
TABLE finding;

-- Under a snapshot that is older than the gate, mending would do harm.
BEGIN ISOLATION LEVEL REPEATABLE READ;
\set VERBOSITY terse
SELECT dms.rebuild_edges();
ROLLBACK;
BEGIN READ ONLY;
SELECT count(*) FROM dms.audit();
SELECT dms.rebuild_edges();
ROLLBACK;
\set VERBOSITY default

-- Rows that a policy hides cannot be audited: that is told, and not overlooked.
CREATE ROLE regress_auditor;
SELECT dms.grant_access('regress_auditor', 'admin');
ALTER TABLE cascade.note ENABLE ROW LEVEL SECURITY;
SET ROLE regress_auditor;
\set VERBOSITY terse
SELECT * FROM dms.audit();
\set VERBOSITY default
SELECT * FROM dms.audit('Cascade', 'Session');
RESET ROLE;
ALTER TABLE cascade.note DISABLE ROW LEVEL SECURITY;

--
-- dms.verify_edges: the same comparison after each write
--

SET dms.verify_edges = on;
SELECT outcome FROM dms.upsert_document('Cascade', 'Note', '{"noteId": 2, "schoolReference": {"schoolId": 10}}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Note', '{"noteId": 2}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "South"}');
-- It reads the columns back, so a trigger on the table cannot deceive it.
CREATE FUNCTION mislead() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	NEW.school_documentid := (SELECT documentid FROM cascade.school WHERE schoolid = 11);
	RETURN NEW;
END
$$;
CREATE TRIGGER mislead BEFORE INSERT ON cascade.note FOR EACH ROW EXECUTE FUNCTION mislead();
SELECT outcome FROM dms.upsert_document('Cascade', 'Note', '{"noteId": 4, "schoolReference": {"schoolId": 10}}');
SET dms.verify_edges = 0;
SELECT outcome FROM dms.upsert_document('Cascade', 'Note', '{"noteId": 4, "schoolReference": {"schoolId": 10}}');
SELECT kind, source FROM finding;
DROP TRIGGER mislead ON cascade.note;
SELECT dms.rebuild_edges();
TABLE finding;

-- A fraction of the writes is verified.
SET dms.verify_edges = 0.5;
SHOW dms.verify_edges;
SET dms.verify_edges = 1;
SET dms.verify_edges = 1.5;
SET dms.verify_edges = sometimes;
SHOW dms.verify_edges;
RESET dms.verify_edges;

SELECT dms.grant_access('regress_auditor', 'none');
\c :home
DROP DATABASE regress_audit;
DROP ROLE regress_auditor;
