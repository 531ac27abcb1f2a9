-- jsonb: the document as a document database keeps it.  One table, one key; no
-- reference is checked and nothing is found but by id.

CREATE SCHEMA @store@;

CREATE TABLE @store@.Document (
	Id uuid PRIMARY KEY,
	Body jsonb NOT NULL,
	Etag bigint NOT NULL DEFAULT 1,
	LastModifiedAt timestamptz NOT NULL DEFAULT now()
);

-- The client has the id; here it is made from the identity, cheaply.
CREATE FUNCTION @store@.id(student integer, school integer, entry date) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN md5(student::text || '#' || school::text || '#' || entry::text)::uuid;

INSERT INTO @store@.Document (Id, Body)
SELECT @store@.id(n, 1 + n % 200, DATE '2000-01-01'),
	bench.body(n, 1 + n % 200, DATE '2000-01-01', 1 + n % 92, 1 + n % 99, DATE '2000-06-30')::jsonb
FROM generate_series(1, (SELECT count(*)::integer FROM edfi.Student)) AS n;
