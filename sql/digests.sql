-- Digests: whether a copy has exactly the documents of the store.
SET client_min_messages = warning;
\set home :DBNAME
DROP DATABASE IF EXISTS dms_digests;
DROP ROLE IF EXISTS regress_digests_reader;
CREATE ROLE regress_digests_reader;
CREATE DATABASE dms_digests TEMPLATE template0 ENCODING 'UTF8';
\c dms_digests
SET client_min_messages = warning;
\pset format unaligned
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
SELECT dms.grant_access('regress_digests_reader', 'reader');

-- No documents, no buckets.
SELECT count(*) AS buckets FROM dms.document_digests('ed-fi', 'students');
SELECT count(dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 's' || n,
	'firstName', 'Zoë ' || n, 'lastSurname', 'Same', 'birthDate', '2014-01-01'))) AS students FROM generate_series(1, 2100) AS n;
SELECT count(dms.upsert_document('ed-fi', 'gradeLevelDescriptors', json_build_object('namespace', 'uri://g',
	'codeValue', n::text, 'shortDescription', n::text))) AS descriptors FROM generate_series(1, 3) AS n;

-- A copy, and its digests as its owner computes them: the exclusive or of the SHA-256 of
-- the JSON, in buckets by the last eight digits of the id.
CREATE FUNCTION copy_of(resource text) RETURNS TABLE (id uuid, body text) LANGUAGE sql AS $$
	SELECT (d ->> 'id')::uuid, d::text FROM dms.query_documents('ed-fi', resource, page_limit => 10000) AS d
$$;
CREATE TABLE copied AS SELECT * FROM copy_of('students');
CREATE FUNCTION digests_of_copy(buckets int) RETURNS TABLE (bucket int, documents bigint, digest bytea) LANGUAGE sql AS $$
	SELECT b.bucket, b.documents, (SELECT decode(string_agg(to_hex(substring(b.digest FROM 4 * n + 1 FOR 4)::int), '' ORDER BY n), 'hex')
		FROM generate_series(0, 63) AS n)
	FROM (
		SELECT (('x' || right(id::text, 8))::bit(32)::bigint % buckets)::int AS bucket, count(*) AS documents,
			bit_xor(('x' || encode(sha256(convert_to(body, 'UTF8')), 'hex'))::bit(256)) AS digest
		FROM copied GROUP BY 1) AS b
$$;
CREATE FUNCTION differences(buckets int DEFAULT 256) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (
		(SELECT * FROM dms.document_digests('ed-fi', 'students', buckets) EXCEPT SELECT * FROM digests_of_copy(buckets))
		UNION ALL
		(SELECT * FROM digests_of_copy(buckets) EXCEPT SELECT * FROM dms.document_digests('ed-fi', 'students', buckets))) AS d
$$;
SELECT sum(documents) AS documents, count(*) <= 256 AND count(*) > 200 AS buckets, bool_and(length(digest) = 32) AS digests
FROM dms.document_digests('ed-fi', 'students');
SELECT differences(), differences(1), differences(7), differences(65536);

-- A document more, less, or other than in the copy is in one bucket.
SELECT dms.resolve('ed-fi', 'students', '{"studentUniqueId": "s7"}') AS seventh \gset
BEGIN;
SELECT dms.delete_document(:'seventh');
SELECT DISTINCT bucket = ('x' || right(:'seventh', 8))::bit(32)::bigint % 256 AS of_the_document
FROM (SELECT * FROM dms.document_digests('ed-fi', 'students') EXCEPT SELECT * FROM digests_of_copy(256)) AS d;
ROLLBACK;
BEGIN;
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s7", "firstName": "Other", "lastSurname": "Same", "birthDate": "2014-01-01"}');
SELECT differences();
ROLLBACK;
BEGIN;
SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "s0", "firstName": "New", "lastSurname": "Same", "birthDate": "2014-01-01"}');
SELECT differences() > 0 AS noticed;
ROLLBACK;
SELECT differences();

-- Descriptors of all types are in one table, and only those of the resource count.
SELECT sum(documents) AS descriptors FROM dms.document_digests('ed-fi', 'gradeLevelDescriptors');
SELECT count(*) AS others FROM dms.document_digests('ed-fi', 'addressTypeDescriptors');

-- Digests are of what the caller may read: two stores are compared with the same rights.
SELECT array_agg(digest ORDER BY bucket) AS all_of_them FROM dms.document_digests('ed-fi', 'students') \gset
SET ROLE regress_digests_reader;
SELECT array_agg(digest ORDER BY bucket) = :'all_of_them' AS same FROM dms.document_digests('ed-fi', 'students');
RESET ROLE;
ALTER TABLE edfi.Student ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_of_them ON edfi.Student FOR SELECT TO regress_digests_reader USING (StudentUniqueId LIKE 's1%');
SET ROLE regress_digests_reader;
SELECT sum(documents) AS visible FROM dms.document_digests('ed-fi', 'students', 4);
RESET ROLE;

-- What is refused.
\set VERBOSITY terse
SELECT * FROM dms.document_digests('ed-fi', 'students', 0);
SELECT * FROM dms.document_digests('ed-fi', 'students', 65537);
SELECT * FROM dms.document_digests('ed-fi', 'students', NULL);
SELECT * FROM dms.document_digests(NULL, 'students');
SELECT * FROM dms.document_digests('ed-fi', 'pupils');
SELECT * FROM dms.document_digests('ed-fi', 'educationOrganization');
\c :home
SET client_min_messages = warning;
DROP DATABASE dms_digests;
DROP ROLE regress_digests_reader;
