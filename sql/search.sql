-- Searching documents for words, and what a cache keeps of a document.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_search;
CREATE DATABASE dms_search TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_search
SET client_min_messages = warning;
CREATE EXTENSION dms;
\set VERBOSITY terse
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/documents.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\pset null (null)

-- A resource is searched by the texts that the option names, in an index, which
-- dms.plan_resource() shows before it is built.
SELECT dms.search_documents('docs', 'documents', 'anything');
SELECT * FROM dms.plan_resource('docs', 'documents', '{"search": ["$.title"], "searchIndex": "documents_title_search_idx"}');
SELECT dms.configure_resource('docs', 'documents', '{"history": true, "generatedId": "$.documentUuid", "title": "$.title", "content": "$.content",
	"search": ["$.title"], "searchIndex": "documents_title_search_idx"}');
SELECT * FROM dms.plan_resource('docs', 'documents', '{}');
SELECT pg_get_indexdef('docs.documents_title_search_idx'::regclass);
SELECT part, name, type FROM dms.describe_resource('docs', 'documents') WHERE part = 'option';

-- Documents that have all words, those that match best first.
SELECT count(outcome) FROM (VALUES (1, 'Searching for a search term'), (2, 'Terms'), (3, 'The search'), (4, 'Term, term, search term'),
	(5, 'Nothing of the kind'), (6, '"quoted" & ! | <-> :*')) AS t (n, title),
	LATERAL dms.upsert_document('docs', 'documents', json_build_object('documentUuid', format('00000000-0000-7000-8000-%s', lpad(n::text, 12, '0')),
		'title', title, 'content', format('Content of %s.', n))::text);
CREATE FUNCTION pg_temp.found(query text, syntax text DEFAULT 'plain', page_limit int DEFAULT 25, page_offset bigint DEFAULT 0,
	sort text DEFAULT 'rank') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(right(d ->> 'documentUuid', 1), ' ' ORDER BY n)
	FROM dms.search_documents('docs', 'documents', query, page_limit, page_offset, syntax, sort) WITH ORDINALITY AS t (d, n)
$$;
SELECT query, pg_temp.found(query) AS plain, pg_temp.found(query, 'web') AS web
FROM unnest(ARRAY['search', 'search term', 'searching TERMS', 'term -search', 'search or nothing', '"search term"', 'the', '', 'missing',
	'& ! | <-> :* '' \ "', 'kind''; DROP TABLE docs.document; --']) AS query;
SELECT pg_temp.found('search', page_limit => 2) AS first, pg_temp.found('search', page_limit => 2, page_offset => 2) AS next, pg_temp.found('search', page_limit => 0) AS none;
-- Or those that were created last first.
SELECT pg_temp.found('search', sort => 'newest') AS newest, pg_temp.found('search', page_limit => 2, page_offset => 1, sort => 'newest') AS next,
	pg_temp.found('term -search', 'web', sort => 'newest') AS web, pg_temp.found('search', sort => 'rank') AS rank;
SELECT d FROM dms.search_documents('docs', 'documents', 'kind') AS d(d) WHERE NOT d::jsonb @> '{"content": "Content of 5.", "_etag": "1"}';

-- A change is found at once, and a document that is gone is not.
SELECT outcome FROM dms.update_document('00000000-0000-7000-8000-000000000005', '{"title": "A search at last", "content": "."}');
SELECT dms.delete_document('00000000-0000-7000-8000-000000000003');
SELECT pg_temp.found('search'), pg_temp.found('nothing');

-- Clients that write SQL use the same index.
INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)
	SELECT dms.uuid_v7(), 'Docs', 'Document', '1.0.0' FROM generate_series(1, 2000);
INSERT INTO docs.document SELECT DocumentId, 'filling', DocumentUuid, 'filling ' || DocumentId FROM dms.Document AS d
	WHERE NOT EXISTS (SELECT FROM docs.document AS t WHERE t.DocumentId = d.DocumentId);
ANALYZE docs.document;
EXPLAIN (COSTS OFF) SELECT * FROM docs.document WHERE to_tsvector('english', title) @@ plainto_tsquery('english', 'search term');
SELECT title FROM docs.document WHERE to_tsvector('english', title) @@ plainto_tsquery('english', 'search term') ORDER BY title;
-- Our own statement never reads the table from end to end.
DO $$ BEGIN PERFORM pg_stat_force_next_flush(); END $$;
DO $$ BEGIN PERFORM pg_stat_reset_single_table_counters('docs.document'::regclass), pg_stat_force_next_flush(); END $$;
SELECT pg_temp.found('term');
DO $$ BEGIN PERFORM pg_stat_force_next_flush(); END $$;
SELECT seq_scan, (SELECT idx_scan > 0 FROM pg_stat_user_indexes WHERE indexrelname = 'documents_title_search_idx') AS by_index
FROM pg_stat_user_tables WHERE relid = 'docs.document'::regclass;
-- Nor does it walk along the primary key until a page is full, although the statistics make
-- that look cheap to whoever plans for the words: the newest documents have others.
SET plan_cache_mode = force_custom_plan;
INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)
	SELECT dms.uuid_v7(), 'Docs', 'Document', '1.0.0' FROM generate_series(1, 2000);
INSERT INTO docs.document SELECT DocumentId, 'drifting', DocumentUuid, 'drifting ' || DocumentId FROM dms.Document AS d
	WHERE NOT EXISTS (SELECT FROM docs.document AS t WHERE t.DocumentId = d.DocumentId);
CREATE FUNCTION pg_temp.rows_by_key(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	key oid := (SELECT conindid FROM pg_constraint WHERE conrelid = 'docs.document'::regclass AND contype = 'p');
	before bigint := pg_stat_get_xact_tuples_fetched(key) + pg_stat_get_xact_tuples_returned(key);
BEGIN
	PERFORM dms.search_documents('docs', 'documents', query, 1, sort => 'newest');
	RETURN pg_stat_get_xact_tuples_fetched(key) + pg_stat_get_xact_tuples_returned(key) - before;
END $$;
SELECT pg_temp.rows_by_key('filling') < 10 AS few;
RESET plan_cache_mode;

-- What cannot be.
SELECT dms.search_documents('docs', 'documents', NULL);
SELECT dms.search_documents('docs', 'documents', 'x', syntax => 'regex');
SELECT dms.search_documents('docs', 'documents', 'x', sort => 'oldest');
SELECT dms.search_documents('docs', 'documents', 'x', sort => NULL);
SELECT dms.search_documents('docs', 'documents', 'x', -1);
SELECT dms.search_documents('docs', 'documents', 'x', 1, -1);
SELECT dms.search_documents('docs', 'nothing', 'x');
-- Many words would take PostgreSQL a long time.
SELECT count(*) FROM dms.search_documents('docs', 'documents', repeat('w ', 5000));
SELECT dms.search_documents('docs', 'documents', repeat('w ', 5001));
SELECT dms.search_documents('docs', 'documents', repeat('-', 10001), syntax => 'web');
-- A text with more different words than an index entry can have.
SELECT outcome FROM dms.upsert_document('docs', 'documents', json_build_object('title', 'long', 'content',
	(SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 60000) AS n))::text);
SELECT dms.configure_resource('docs', 'documents', '{"search": ["$.title", "$.content"]}');
SELECT dms.delete_document(documentuuid::uuid) FROM docs.document WHERE title = 'long';
BEGIN;
SELECT dms.configure_resource('docs', 'documents', '{"search": ["$.title", "$.content"]}');
\set VERBOSITY default
SELECT outcome FROM dms.upsert_document('docs', 'documents', json_build_object('title', 'long', 'content',
	(SELECT string_agg(md5(n::text), ' ') FROM generate_series(1, 60000) AS n))::text);
\set VERBOSITY terse
ROLLBACK;

-- HTTP: q searches, and can be combined with nothing but paging.
CREATE FUNCTION pg_temp.get(path text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', status, headers ->> 'Total-Count', CASE WHEN status = 200
		THEN (SELECT string_agg(right(d ->> 'documentUuid', 1), ',' ORDER BY n) FROM json_array_elements(body) WITH ORDINALITY AS t (d, n))
		ELSE concat_ws(' ', body ->> 'type', body ->> 'errors') END)
	FROM dms.handle_request('GET', path)
$$;
SELECT path, pg_temp.get('/docs/documents' || path)
FROM unnest(ARRAY['?q=search+term', '?q=term+-search&syntax=web', '?Q=search&totalCount=true&limit=1&offset=1', '?q=', '?q=the',
	'?q=a&q=b', '?q=a&syntax=x&title=b&limit=501', '?syntax=web', '?q=%26%21%7C%3C-%3E%3A%2A%27%5C', '?q=a&syntax=web&syntax=web',
	'?q=search&sort=newest&limit=2', '?q=search&sort=rank&limit=2', '?q=search&sort=oldest', '?sort=newest']) AS path;
SELECT dms.configure_resource('docs', 'documents', '{"search": null}') -> 'searchIndex' AS stays;
SELECT to_regclass('docs.documents_title_search_idx');
SELECT pg_temp.get('/docs/documents?q=a');

-- An index that is there already is taken, whatever its name, and gets the name that is
-- wanted.
CREATE INDEX by_hand ON docs.document USING gin (to_tsvector('english', title));
SELECT * FROM dms.plan_resource('docs', 'documents', '{"search": ["$.title"]}');
SELECT * FROM dms.plan_resource('docs', 'documents', '{"search": ["$.title"], "searchIndex": null}');
-- Another kind of index, of other rows, or by other words is not.
CREATE INDEX other_rows ON docs.document USING gin (to_tsvector('english', title)) WHERE documentid > 0;
CREATE INDEX other_words ON docs.document USING gin (to_tsvector('simple', title));
CREATE INDEX other_kind ON docs.document USING gist (to_tsvector('english', title));
DROP INDEX docs.by_hand;
SELECT * FROM dms.plan_resource('docs', 'documents', '{"search": ["$.title"], "searchIndex": null}');
SELECT * FROM dms.plan_resource('docs', 'documents', '{"search": ["$.title"], "searchIndex": "by title"}');
SELECT * FROM dms.plan_resource('docs', 'documents', '{"search": ["$.title"], "searchConfiguration": "simple", "searchIndex": null}');
-- Several texts; the words of other languages.
SELECT dms.configure_resource('docs', 'documents', '{"search": ["$.title", "$.content"], "searchConfiguration": "German", "searchIndex": null}');
SELECT pg_get_indexdef('docs.document_search_ix'::regclass);
SELECT outcome FROM dms.upsert_document('docs', 'documents', '{"title": "Die Häuser", "content": "am See"}');
SELECT d ->> 'title' AS found FROM dms.search_documents('docs', 'documents', 'Haus See') AS d;
EXPLAIN (COSTS OFF) SELECT * FROM docs.document
WHERE to_tsvector('german', coalesce(title, '') || ' ' || coalesce(content, '')) @@ plainto_tsquery('german', 'Haus');
-- A configuration of one's own is named with its schema.
CREATE TEXT SEARCH CONFIGURATION public.ours (COPY = simple);
SELECT dms.configure_resource('docs', 'documents', '{"search": ["$.title"], "searchConfiguration": "public.ours"}');
SELECT d ->> 'title' AS found FROM dms.search_documents('docs', 'documents', 'haus') AS d;
SELECT d ->> 'title' AS found FROM dms.search_documents('docs', 'documents', 'HÄUSER') AS d;
DROP TEXT SEARCH CONFIGURATION public.ours;
-- Its owner can rename it, or take it away with the index.  Then searches fail until the
-- option is set again; writes do not.
ALTER TEXT SEARCH CONFIGURATION public.ours RENAME TO theirs;
SELECT dms.search_documents('docs', 'documents', 'haus');
SELECT outcome FROM dms.upsert_document('docs', 'documents', '{"title": "Ein Haus", "content": ""}');
ALTER TEXT SEARCH CONFIGURATION public.theirs RENAME TO ours;
SELECT d ->> 'title' AS found FROM dms.search_documents('docs', 'documents', 'haus') AS d;
DROP TEXT SEARCH CONFIGURATION public.ours CASCADE;
SELECT dms.search_documents('docs', 'documents', 'haus');
SELECT pg_temp.get('/docs/documents?q=haus');
SELECT outcome FROM dms.upsert_document('docs', 'documents', '{"title": "Noch ein Haus", "content": ""}');
SELECT kind, expected, found FROM dms.audit() WHERE kind LIKE 'option%';
SELECT dms.configure_resource('docs', 'documents', '{}');
SELECT dms.configure_resource('docs', 'documents', '{"searchConfiguration": "german"}') ->> 'searchConfiguration' AS configuration;
SELECT d ->> 'title' AS found FROM dms.search_documents('docs', 'documents', 'Häuser') AS d;

-- All that contradicts the schema is refused at once.
\set VERBOSITY default
SELECT dms.configure_resource('docs', 'documents', '{"search": ["$.title", "$.nothing", "$.id"], "title": "$.heading", "content": "$.documentUuid.x",
	"generatedId": "$.title", "searchConfiguration": "klingon", "searchIndex": ""}');
SELECT dms.configure_resource('docs', 'documents', '{"search": [], "title": "title", "content": 7, "generatedId": ["$.documentUuid"], "searchConfiguration": "pg_temp.x", "color": "red"}');
SELECT dms.configure_resource('docs', 'documents', '{"searchIndex": "document_pk", "search": ["$.content"]}');
\set VERBOSITY terse
SELECT dms.configure_resource('docs', 'documents', '{"search": ["$.title", "$.title"]}');

-- An index that was dropped is created by the next call.
SELECT dms.configure_resource('docs', 'documents', '{"searchConfiguration": null}') -> 'search' AS search;
DROP INDEX docs.document_search_ix;
SELECT kind, expected, found FROM dms.audit() WHERE kind LIKE 'option%';
SELECT dms.configure_resource('docs', 'documents', '{}') -> 'search' AS search;
SELECT kind, expected, found FROM dms.audit() WHERE kind LIKE 'option%';

-- What a cache keeps of a document.  Without the options, the title is null, and the
-- content is the whole document.
SELECT regexp_replace(dms.latest_version('00000000-0000-7000-8000-000000000005')::text, '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', 'TIME');
SELECT (dms.latest_version(DocumentUuid) ->> 'updatedAt')::timestamptz = date_trunc('milliseconds', LastModifiedAt) AS same_time
FROM dms.Document WHERE DocumentUuid = '00000000-0000-7000-8000-000000000005';
SELECT dms.latest_version('00000000-0000-7000-8000-000000000003') AS deleted, dms.latest_version(NULL) AS of_null;
BEGIN;
SELECT dms.configure_resource('docs', 'documents', '{"title": null, "content": null}') IS NOT NULL AS configured;
SELECT v -> 'title' AS title, v ->> 'version' AS version, v -> 'content' ->> 'title' AS title_in_content,
	v -> 'content' ->> '_etag' AS etag FROM dms.latest_version('00000000-0000-7000-8000-000000000005') AS v;
ROLLBACK;

-- Readers search with their own rights: policies hide documents from results, counts and
-- ranks.  The matching ids come from the index all the same.
CREATE ROLE regress_search_reader;
CREATE ROLE regress_search_nobody;
SELECT dms.grant_access('regress_search_reader', 'reader');
SET ROLE regress_search_nobody;
SELECT * FROM dms.search_documents('docs', 'documents', 'search');
RESET ROLE;
GRANT USAGE ON SCHEMA dms TO regress_search_nobody;
SET ROLE regress_search_reader;
SELECT pg_temp.found('search'), pg_temp.get('/docs/documents?q=search&totalCount=true');
RESET ROLE;
ALTER TABLE docs.document ENABLE ROW LEVEL SECURITY;
CREATE POLICY most ON docs.document FOR SELECT TO regress_search_reader USING (title NOT LIKE '%Term%');
ANALYZE docs.document;
SET ROLE regress_search_reader;
SELECT pg_temp.found('search'), pg_temp.get('/docs/documents?q=search&totalCount=true'), pg_temp.found('term') AS term;
SELECT pg_temp.found('search', page_limit => 1), pg_temp.found('search', page_limit => 1, page_offset => 1);
SELECT pg_temp.found('search', sort => 'newest') AS newest;
SELECT dms.latest_version('00000000-0000-7000-8000-000000000004') AS hidden;
RESET ROLE;
SELECT pg_temp.found('search') AS owner_sees;
-- Without the privilege to read the table there is no answer at all.
REVOKE SELECT ON docs.document FROM regress_search_reader;
SET ROLE regress_search_reader;
SELECT pg_temp.found('search');
SELECT pg_temp.get('/docs/documents?q=search');
RESET ROLE;

-- A schema that takes a path away that an option names is refused with all else that it
-- would lose.
\set VERBOSITY default
SELECT replace(replace(replace(:'schema', '$.title', '$.heading'), '"title": {', '"heading": {'), '"title",', '"heading",') AS renamed \gset
SELECT dms.migrate_schema(ARRAY[:'renamed'::json]);
SELECT dms.migrate_schema(ARRAY[:'renamed'::json], renames => '{"docs.document.title": "docs.document.heading"}');
\set VERBOSITY terse
-- Nothing was changed.  A longer column keeps its index.
SELECT options ->> 'search' AS search FROM dms.resource_options('docs', 'documents');
SELECT dms.migrate_schema(ARRAY[replace(:'schema', '"maxLength": 300', '"maxLength": 400')::json]) IS NOT NULL AS migrated;
SELECT pg_temp.found('search term');
SELECT count(*) AS findings FROM dms.audit() WHERE kind LIKE 'option%';
-- Who agrees to lose a path loses the options that name it; the index goes with the column.
SELECT dms.migrate_schema(ARRAY[:'renamed'::json], true, '{"docs.document.title": "docs.document.heading"}') IS NOT NULL AS migrated;
SELECT options FROM dms.resource_options('docs', 'documents');
SELECT count(*) AS findings FROM dms.audit() WHERE kind LIKE 'option%';

DROP OWNED BY regress_search_reader, regress_search_nobody;
\c :home
DROP DATABASE dms_search;
DROP ROLE regress_search_reader, regress_search_nobody;
