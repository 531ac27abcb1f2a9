-- A subscription to the documents of a store, in another cluster.  To be run in the database
-- of the copy, with the connection to the store:
--
--   psql -v store="host=db dbname=school user=subscriber" -f subscribe.sql copy
--
-- The id of a document is the key of the copy, as it is the key of the stream.  First the
-- subscription copies all rows, then it applies changes as they are committed.

CREATE SCHEMA dms;
CREATE TABLE dms.documentcache (
	documentuuid uuid PRIMARY KEY,
	documentid bigint NOT NULL,
	projectname varchar(256) NOT NULL,
	resourcename varchar(256) NOT NULL,
	resourceversion varchar(64) NOT NULL,
	etag bigint NOT NULL,
	lastmodifiedat timestamptz NOT NULL,
	documentjson json NOT NULL,
	computedat timestamptz NOT NULL
);

CREATE SUBSCRIPTION dms_documents CONNECTION :'store' PUBLICATION dms_documents;

-- What dms.document_digests() returns for a resource of the store.
CREATE FUNCTION dms.copy_digests(project text, resource text, buckets int DEFAULT 256)
RETURNS TABLE (bucket int, documents bigint, digest bytea)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
WITH hashed AS (
	SELECT (('x' || right(documentuuid::text, 8))::bit(32)::bigint % buckets)::int AS bucket,
		encode(sha256(convert_to(documentjson::text, 'UTF8')), 'hex') AS hash
	FROM dms.documentcache WHERE (projectname, resourcename) = (project, resource)
), bytes AS (
	-- The exclusive or of all hashes, eight hexadecimal digits at a time.
	SELECT h.bucket, p.place, count(*) AS documents,
		bit_xor(('x' || substr(h.hash, 8 * p.place + 1, 8))::bit(32)::bigint) AS part
	FROM hashed AS h, generate_series(0, 7) AS p (place) GROUP BY 1, 2
)
SELECT b.bucket, max(b.documents), decode(string_agg(lpad(to_hex(b.part), 8, '0'), '' ORDER BY b.place), 'hex')
FROM bytes AS b GROUP BY b.bucket ORDER BY b.bucket
$$;
