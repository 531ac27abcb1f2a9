-- Functions and views of specs about the cache of documents.

CREATE OR REPLACE FUNCTION cache_on(mode text) RETURNS void LANGUAGE sql VOLATILE
SET client_min_messages = warning AS $function$
	SELECT dms.set_cache_mode(mode)
$function$;

CREATE OR REPLACE FUNCTION cache_off() RETURNS void LANGUAGE plpgsql VOLATILE
SET client_min_messages = warning AS $function$
BEGIN
	PERFORM dms.set_cache_mode('off');
	PERFORM dms.clear_cache();
END $function$;

-- Documents that failed are tried again now.
CREATE OR REPLACE FUNCTION retry_now() RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC
	WITH retried AS (UPDATE dms.ProjectionFailure SET NextAttemptAt = now() RETURNING 1)
	SELECT count(*) FROM retried;
END;

-- Rows of the cache beside documents.
CREATE OR REPLACE VIEW cached AS
SELECT coalesce(d.DocumentId, c.DocumentId) AS id, d.Etag AS etag, c.Etag AS cached, c.DocumentJson ->> 'title' AS title
FROM dms.Document AS d FULL JOIN dms.DocumentCache AS c USING (DocumentId)
ORDER BY 1;

-- What must never be: rows without a document, and fresh rows with another text than
-- the tables have.
CREATE OR REPLACE FUNCTION cache_trouble() RETURNS TABLE (what text, id bigint) LANGUAGE sql VOLATILE
SET dms.cache_reads = off AS $function$
	SELECT 'row without a document', c.DocumentId FROM dms.DocumentCache AS c
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = c.DocumentId)
	UNION ALL
	SELECT 'row with another text', c.DocumentId
	FROM dms.DocumentCache AS c JOIN dms.Document AS d ON d.DocumentId = c.DocumentId AND d.Etag = c.Etag
	WHERE c.DocumentJson::text <> dms.get_document(d.DocumentUuid)::text
$function$;

-- Documents are published.  That the server cannot decode them does not matter here.
CREATE OR REPLACE FUNCTION publish() RETURNS void LANGUAGE sql VOLATILE
SET client_min_messages = error AS $function$
	SELECT dms.publish_documents()
$function$;

CREATE OR REPLACE FUNCTION unpublish() RETURNS void LANGUAGE sql VOLATILE AS $function$
	SELECT dms.unpublish_documents()
$function$;
