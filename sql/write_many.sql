-- Several documents in one call: they refer to each other, and to documents
-- that follow them, by the identities after the call.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_many;
CREATE DATABASE dms_many TEMPLATE template0 ENCODING 'UTF8';
\c dms_many
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/cascade.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;

-- Bodies.
CREATE FUNCTION level1(key1 text) RETURNS json LANGUAGE sql RETURN json_build_object('key1', key1);
CREATE FUNCTION level2(key1 text, key2 text) RETURNS json LANGUAGE sql RETURN
	json_build_object('key2', key2, 'level1Reference', json_build_object('key1', key1));
CREATE FUNCTION level3(key1 text, key2 text, key3 text) RETURNS json LANGUAGE sql RETURN
	json_build_object('key3', key3, 'level2Reference', json_build_object('key1', key1, 'key2', key2));
CREATE FUNCTION level4(key1 text, key2 text, key3 text, key4 text) RETURNS json LANGUAGE sql RETURN
	json_build_object('key4', key4, 'level3Reference', json_build_object('key1', key1, 'key2', key2, 'key3', key3));
CREATE FUNCTION level5(key1 text, key2 text, key3 text, key4 text, key5 text) RETURNS json LANGUAGE sql RETURN
	json_build_object('key5', key5, 'level4Reference', json_build_object('key1', key1, 'key2', key2, 'key3', key3, 'key4', key4));
CREATE FUNCTION color(code text) RETURNS json LANGUAGE sql RETURN
	json_build_object('namespace', 'uri://c', 'codeValue', code, 'shortDescription', 'color');
CREATE FUNCTION school(id int, name text) RETURNS json LANGUAGE sql RETURN json_build_object('schoolId', id, 'name', name);
CREATE FUNCTION session(school int, name text) RETURNS json LANGUAGE sql RETURN
	json_build_object('sessionName', name, 'schoolReference', json_build_object('schoolId', school));
CREATE FUNCTION offering(code text, school int, session text) RETURNS json LANGUAGE sql RETURN
	json_build_object('localCode', code, 'schoolReference', json_build_object('schoolId', school),
		'sessionReference', json_build_object('schoolId', school, 'sessionName', session));
CREATE FUNCTION flag(color text, organization int) RETURNS json LANGUAGE sql RETURN
	json_build_object('colorDescriptor', color, 'organizationReference', json_build_object('organizationId', organization));
CREATE FUNCTION note(id int, school int DEFAULT NULL, flag text[] DEFAULT NULL, offerings text[] DEFAULT NULL) RETURNS json LANGUAGE sql RETURN
	json_strip_nulls(json_build_object('noteId', id,
		'schoolReference', CASE WHEN school IS NOT NULL THEN json_build_object('schoolId', school) END,
		'flagReference', CASE WHEN flag IS NOT NULL THEN json_build_object('colorDescriptor', flag[1], 'organizationId', flag[2]::int) END,
		'offerings', (SELECT json_agg(json_build_object('offeringReference', json_build_object('localCode', offerings[i][1],
			'schoolId', offerings[i][2]::int, 'sessionName', offerings[i][3])) ORDER BY i) FROM generate_subscripts(offerings, 1) AS i)));

-- Documents by their numbers.
CREATE FUNCTION batch(ids bigint[], bodies json[], OUT outcome text, OUT id bigint, OUT etag bigint) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT outcome, document_id, etag FROM dms.update_documents(ARRAY(
		SELECT d.DocumentUuid FROM unnest(ids) WITH ORDINALITY AS u (i, n) JOIN dms.Document AS d ON d.DocumentId = u.i ORDER BY n), bodies)
$$;
-- The representations that clients see.
CREATE VIEW documents AS
SELECT d.DocumentId AS id, d.ResourceName, d.Etag, g.body::jsonb - 'id' - '_etag' - '_lastModifiedDate' AS body
FROM dms.Document AS d, LATERAL dms.get_document(d.DocumentUuid) AS g (body) ORDER BY 1;

SELECT document_id, outcome
FROM (VALUES
	(1, 'Level1', level1('a')), (2, 'Level1', level1('z')),
	(3, 'Level2', level2('a', 'b')), (4, 'Level3', level3('a', 'b', 'c')), (5, 'Level4', level4('a', 'b', 'c', 'd')),
	(6, 'Level5', level5('a', 'b', 'c', 'd', 'e')),
	(7, 'ColorDescriptor', color('Red')), (8, 'School', school(10, 'North')), (9, 'School', school(20, 'South')),
	(10, 'Session', session(10, 'Fall')), (11, 'Session', session(20, 'Fall')),
	(12, 'Offering', offering('ALG', 10, 'Fall')), (13, 'Offering', offering('ALG', 20, 'Fall')),
	(14, 'Flag', flag('uri://c#Red', 10)), (15, 'Note', note(1))
) AS d (n, resource, body),
LATERAL dms.upsert_document('Cascade', d.resource, d.body)
ORDER BY n;

--
-- A document whose identity follows that of a document of the call is named by
-- its new identity in the bodies of the call, over any number of levels.
--
BEGIN;
SELECT * FROM batch(ARRAY[1, 4], ARRAY[level1('A'), level3('A', 'b', 'c')]);
SELECT * FROM documents WHERE id <= 6;
SELECT * FROM dms.audit();
ROLLBACK;
BEGIN;
SELECT * FROM batch(ARRAY[5, 1], ARRAY[level4('A', 'b', 'c', 'd'), level1('A')]);
SELECT * FROM documents WHERE id <= 6;
SELECT * FROM dms.audit();
ROLLBACK;
-- Under its old identity it does not exist any more.
\set SHOW_CONTEXT always
SELECT * FROM batch(ARRAY[1, 4], ARRAY[level1('A'), level3('a', 'b', 'c')]);
SELECT * FROM batch(ARRAY[1, 5], ARRAY[level1('A'), level4('a', 'b', 'c', 'd')]);
\set SHOW_CONTEXT errors
\set VERBOSITY terse
-- And it has no other identity.
SELECT * FROM batch(ARRAY[1, 5], ARRAY[level1('A'), level4('A', 'b', 'C', 'd')]);
-- Identities that cannot be changed may follow; their own key values stay.
SELECT * FROM batch(ARRAY[1, 5], ARRAY[level1('A'), level4('A', 'b', 'c', 'D')]);
-- That is checked before missing references are.
SELECT * FROM batch(ARRAY[1, 5], ARRAY[level1('A'), level4('A', 'b', 'C', 'D')]);

-- If the call changes no identity, names are resolved as usual.
SELECT * FROM batch(ARRAY[1, 5], ARRAY[level1('a'), level4('A', 'b', 'c', 'd')]);
SELECT * FROM batch(ARRAY[1, 5], ARRAY[level1('a'), level4('a', 'b', 'c', 'd')]);

-- Through the superclass, through descriptors, in collections.
BEGIN;
SELECT * FROM batch(ARRAY[15, 8], ARRAY[note(1, 11, ARRAY['uri://c#Red', '11'], ARRAY[['ALG', '11', 'Fall'], ['ALG', '20', 'Fall']]), school(11, 'North')]);
SELECT * FROM batch(ARRAY[7, 15], ARRAY[color('Blue'), note(1, 11, ARRAY['uri://c#BLUE', '11'])]);
SELECT * FROM documents WHERE id > 6;
SELECT * FROM dms.audit();
ROLLBACK;
SELECT * FROM batch(ARRAY[15, 8], ARRAY[note(1, flag => ARRAY['uri://c#Red', '10']), school(11, 'North')]);
SELECT * FROM batch(ARRAY[15, 8], ARRAY[note(1, offerings => ARRAY[['ALG', '10', 'Fall']]), school(11, 'North')]);
-- A missing descriptor is reported first.
SELECT * FROM batch(ARRAY[15, 8], ARRAY[note(1, flag => ARRAY['uri://c#Green', '11']), school(11, 'North')]);
SELECT * FROM batch(ARRAY[7, 15], ARRAY[color('Blue'), note(1, flag => ARRAY['uri://c#Red', '10'])]);

-- Identities that are swapped: each follower gets the identity that the other
-- one had.
BEGIN;
SELECT * FROM batch(ARRAY[15], ARRAY[note(1, offerings => ARRAY[['ALG', '10', 'Fall']])]);
SELECT * FROM batch(ARRAY[8, 9, 15], ARRAY[school(20, 'North'), school(10, 'South'), note(1, offerings => ARRAY[['ALG', '10', 'Fall']])]);
SELECT id, Etag, body FROM documents WHERE id > 7 AND id < 14 OR id = 15;
SELECT Offering_DocumentId FROM cascade.NoteOffering;
SELECT * FROM dms.audit();
ROLLBACK;
-- The mode of the constraints is the caller's: keys that the caller has deferred can
-- collide after the call, too, and others cannot.
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
SELECT outcome FROM batch(ARRAY[8, 9], ARRAY[school(20, 'North'), school(10, 'South')]);
UPDATE cascade.School SET SchoolId = 20 WHERE DocumentId = 9;
UPDATE cascade.School SET SchoolId = 10 WHERE DocumentId = 9;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT * FROM dms.audit();
ROLLBACK;
BEGIN;
SELECT outcome FROM batch(ARRAY[8, 9], ARRAY[school(20, 'North'), school(10, 'South')]);
UPDATE cascade.School SET SchoolId = 20 WHERE DocumentId = 9;
ROLLBACK;
-- Documents that keep their identities, and therefore refer to the other
-- documents.
BEGIN;
SELECT * FROM batch(ARRAY[8, 9, 10, 11, 12, 13], ARRAY[school(20, 'North'), school(10, 'South'), session(10, 'Fall'), session(20, 'Fall'),
	offering('ALG', 10, 'Fall'), offering('ALG', 20, 'Fall')]);
SELECT id, Etag, body FROM documents WHERE id BETWEEN 8 AND 13;
SELECT s.DocumentId, s.School_DocumentId, e.ChildDocumentId FROM cascade.Session AS s JOIN dms.ReferenceEdge AS e ON e.ParentDocumentId = s.DocumentId ORDER BY 1;
SELECT * FROM dms.audit();
ROLLBACK;
-- Without the offerings in the call, these would refer to two schools.
SELECT * FROM batch(ARRAY[8, 9, 10, 11], ARRAY[school(20, 'North'), school(10, 'South'), session(10, 'Fall'), session(20, 'Fall')]);

-- A document of the call gets the identity that a follower of the call gives
-- up.
BEGIN;
SELECT * FROM batch(ARRAY[8, 9, 11], ARRAY[school(30, 'North'), school(10, 'South'), session(10, 'Fall')]);
SELECT id, Etag, body FROM documents WHERE id BETWEEN 8 AND 14;
SELECT * FROM dms.audit();
ROLLBACK;

-- It may also get that of a follower that is not in the call.  The changed keys of both
-- are recorded with the ReferentialIds that they had, and so are those of others.
BEGIN;
CREATE TABLE ids AS SELECT * FROM dms.ReferentialIdentity;
SELECT * FROM batch(ARRAY[8, 9, 10], ARRAY[school(20, 'North'), school(10, 'South'), session(20, 'Fall')]);
SELECT t.DocumentId AS id, t.Etag, t.OldKey, t.NewKey, t.OldReferentialId = i.ReferentialId AS has_id, t.OldAliasId = a.ReferentialId AS has_alias
FROM dms.TrackedChange AS t JOIN dms.Document AS d USING (DocumentId)
LEFT JOIN ids AS i ON i.DocumentId = d.DocumentId AND i.ResourceName = d.ResourceName
LEFT JOIN ids AS a ON a.DocumentId = d.DocumentId AND a.ResourceName <> d.ResourceName ORDER BY 1;
SELECT * FROM dms.audit();
ROLLBACK;

-- A document that only refers to a renamed one: its body changes.
BEGIN;
SELECT * FROM batch(ARRAY[15], ARRAY[note(1, 10)]);
SELECT * FROM batch(ARRAY[8, 15], ARRAY[school(30, 'North'), note(1, 30)]);
SELECT * FROM batch(ARRAY[8, 15], ARRAY[school(30, 'North'), note(1, 30)]);
ROLLBACK;

-- An identity that two documents would get is taken.
SELECT * FROM batch(ARRAY[8, 9], ARRAY[school(30, 'North'), school(30, 'South')]);
SELECT * FROM batch(ARRAY[8, 10], ARRAY[school(30, 'North'), session(20, 'Fall')]);
SELECT * FROM batch(ARRAY[8, 9, 10, 11], ARRAY[school(20, 'North'), school(10, 'South'), session(10, 'Fall'), session(10, 'Fall')]);
-- None of the above is kept.
SELECT id, Etag FROM documents WHERE Etag > 1;
SELECT * FROM dms.audit();

\c :database
DROP DATABASE dms_many;
