-- dms.audit() reports contradictions between rows of the store.  Each kind of
-- corruption below is made by hand, reported by the audit, repaired by
-- dms.repair(), and rolled back.
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

-- An empty store has no findings.
SELECT * FROM dms.audit();

-- A few documents: 1 and 2 are descriptors, 3 and 4 are organizations.
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

-- A store that was written only by the functions has no findings, in any scope.
SELECT * FROM dms.audit();
SELECT * FROM dms.audit('cascade');
SELECT * FROM dms.audit('CASCADE', 'OFFERINGS');
SELECT * FROM dms.audit(resource => 'Organization');
SELECT a.* FROM dms.Document AS d, dms.audit(document_uuid => d.DocumentUuid) AS a WHERE d.DocumentId = 6;
SELECT dms.rebuild_edges();

-- Names of resources and documents that do not exist.
\set VERBOSITY sqlstate
SELECT * FROM dms.audit('nowhere');
SELECT * FROM dms.audit('Cascade', 'Nothing');
SELECT * FROM dms.audit(document_uuid => '00000000-0000-0000-0000-000000000000');
SELECT dms.rebuild_edges('Cascade', 'Nothing');
\set VERBOSITY default

-- All findings, in a form that is the same in every run.
CREATE VIEW finding AS
SELECT kind, document_id AS id,
	document_uuid IS NOT DISTINCT FROM (SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = a.document_id)
		AS uuid_fits,
	replace(edge_source_key, 'Cascade.', '') AS source, expected, found
FROM dms.audit() AS a ORDER BY kind COLLATE "C", document_id, edge_source_key COLLATE "C", found COLLATE "C";

--
-- Edges
--

-- An edge is missing: one of the root table, one of a collection.
BEGIN;
DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = 8;
TABLE finding;
-- Each scope that includes the document finds it.
SELECT kind, document_id FROM dms.audit('Cascade', 'notes');
SELECT kind, document_id FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 8));
SELECT kind, document_id FROM dms.audit('Cascade', 'Offering');
SELECT dms.rebuild_edges('cascade', 'offerings') AS elsewhere, dms.rebuild_edges('cascade', 'NOTES') AS here;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The identity flag is wrong, in either direction.
BEGIN;
UPDATE dms.ReferenceEdge SET IsIdentityComponent = NOT IsIdentityComponent WHERE ParentDocumentId IN (6, 8);
TABLE finding;
SELECT dms.rebuild_edges();
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- Edges without a reference column: with a known source, one of another
-- resource and an unknown one, with a child that does not exist, and with a
-- parent that does not exist.
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

-- A source that a deploy wrote has another name, or is missing.
BEGIN;
UPDATE dms.EdgeSource SET EdgeSourceKey = 'something else' WHERE EdgeSourceKey = 'Cascade.Session:docref:$.schoolReference';
DELETE FROM dms.EdgeSource WHERE EdgeSourceKey = 'Cascade.Flag:desc:$.shapeDescriptor';
SELECT kind, id, source, found FROM finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A resource has another number or another name than the deploy gave it, or none.
BEGIN;
UPDATE dms.ResourceType SET ResourceTypeId = 4711 WHERE ResourceName = 'Session';
UPDATE dms.ResourceType SET ResourceName = 'Sessions' WHERE ResourceName = 'Note';
DELETE FROM dms.ResourceType WHERE ResourceName = 'Flag';
SELECT kind, id, source, expected, found FROM finding ORDER BY expected COLLATE "C";
SELECT kind FROM dms.audit('Cascade', 'Agency');
SELECT * FROM dms.repair();
TABLE finding;
SELECT count(*) AS wrong FROM dms.ResourceType WHERE ResourceTypeId <> dms_internal.resource_type_id(ProjectName, ResourceName);
ROLLBACK;

-- A reference column was changed by hand, so the edge still has the old
-- document.
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

-- A ReferentialId is changed: the primary one, and that of the superclass.
BEGIN;
UPDATE dms.ReferentialIdentity SET ReferentialId = overlay(ReferentialId::text PLACING '00000000' FROM 1)::uuid
WHERE DocumentId IN (3, 6) OR (DocumentId, ResourceName) = (1, 'ColorDescriptor');
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- One is missing, and there is another that should not exist.
BEGIN;
DELETE FROM dms.ReferentialIdentity WHERE DocumentId = 4 AND ResourceName = 'Organization';
INSERT INTO dms.ReferentialIdentity VALUES ('11111111-1111-5111-8111-111111111111', 5, 'Cascade', 'Agency');
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A key value was changed by hand, so the identities of all documents that
-- depend on it are wrong.
BEGIN;
UPDATE cascade.session SET sessionname = 'Spring' WHERE documentid = 5;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- A row is missing on the way to the values, so there is no identity to
-- compare.
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

-- A missing source prevents changes only where the reference is part of an
-- identity, and it does not prevent the repair.
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

-- A write that finds an identity without a document raises an error, instead of
-- searching for the document forever.
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

-- A descriptor has another type than its document and its ReferentialId, which are right.
BEGIN;
UPDATE dms.Descriptor SET Discriminator = 'Cascade:ColorDescriptor' WHERE DocumentId = 2;
TABLE finding;
SELECT kind, expected, found FROM dms.audit(resource => 'ShapeDescriptor') WHERE kind = 'descriptor_type';
SELECT kind, expected, found FROM dms.audit(resource => 'ColorDescriptor') WHERE kind = 'descriptor_type';
SELECT kind, expected, found FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 2))
WHERE kind = 'descriptor_type';
SELECT * FROM dms.repair();
TABLE finding;
SELECT Discriminator FROM dms.Descriptor WHERE DocumentId = 2;
-- A type that does not exist.
UPDATE dms.Descriptor SET Discriminator = 'Cascade:Taste' WHERE DocumentId = 2;
SELECT kind, id, expected, found FROM finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- If the ReferentialId agrees with the descriptor, its document has the wrong type.
BEGIN;
UPDATE dms.Document SET ResourceName = 'ColorDescriptor' WHERE DocumentId = 2;
SELECT kind, id, source, expected, found FROM finding;
SELECT * FROM dms.repair();
TABLE finding;
SELECT ResourceName FROM dms.Document WHERE DocumentId = 2;
ROLLBACK;

-- So it has if that is no type of a descriptor.
BEGIN;
UPDATE dms.Document SET ResourceName = 'School' WHERE DocumentId = 2;
DELETE FROM dms.ReferentialIdentity WHERE DocumentId = 2;
SELECT * FROM dms.repair();
SELECT ResourceName FROM dms.Document WHERE DocumentId = 2;
TABLE finding;
ROLLBACK;

-- References to a descriptor of another type, to a document that is no subclass of an
-- abstract resource, and to one of another resource.  Which one was meant, no repair can tell.
BEGIN;
SET LOCAL session_replication_role = replica;
UPDATE cascade.flag SET shapedescriptor_descriptorid = 1, organization_documentid = 5;
UPDATE cascade.note SET school_documentid = 4;
SELECT dms.rebuild_edges();
TABLE finding;
SELECT kind, document_id FROM dms.audit('Cascade', 'Note');
SELECT kind, document_id FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 7));
SELECT * FROM dms.repair() WHERE kind = 'reference_type';
ROLLBACK;

--
-- Orphans
--

-- The document was deleted, and all rows that belong to it were left.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM dms.Document WHERE DocumentId = 7;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The same for a document that others refer to.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM dms.Document WHERE DocumentId = 2;
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The row was deleted, and the document was left.
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM cascade.flag WHERE documentid = 7;
TABLE finding;
SELECT kind, document_id FROM dms.audit('Cascade', 'Flag');
SELECT kind, document_id FROM dms.audit(document_uuid => (SELECT DocumentUuid FROM dms.Document WHERE DocumentId = 7));
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- The resource of a document does not exist.
BEGIN;
INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
VALUES (995, dms.uuid_v7(), 'Cascade', 'Comet', '1');
TABLE finding;
SELECT * FROM dms.repair();
TABLE finding;
ROLLBACK;

-- After all rollbacks there are no findings.
TABLE finding;

-- A repair needs a snapshot that is newer than the closing of the gate: it
-- would overwrite changes that it does not see.
BEGIN ISOLATION LEVEL REPEATABLE READ;
\set VERBOSITY terse
SELECT dms.rebuild_edges();
ROLLBACK;
BEGIN READ ONLY;
SELECT count(*) FROM dms.audit();
SELECT dms.rebuild_edges();
ROLLBACK;
\set VERBOSITY default

-- Rows that a policy hides cannot be audited, so the audit fails instead of
-- skipping them.
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
-- The columns are read back, so a trigger on the table that changes them is
-- noticed.
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

-- The setting can be a fraction of the writes.
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
