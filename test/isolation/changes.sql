-- More to start from, for specs of those who follow the changes.  To be run after fixture.sql.

SET LOCAL client_min_messages = warning;

CREATE TABLE IF NOT EXISTS followed (follower text PRIMARY KEY, place text, number bigint);
TRUNCATE followed;

-- What a follower of the feed reads next, and its new place.
CREATE OR REPLACE FUNCTION follow(name text DEFAULT 'f', n int DEFAULT 1000) RETURNS SETOF text LANGUAGE plpgsql AS $function$
DECLARE
	read record;
	last text;
BEGIN
	FOR read IN SELECT * FROM dms.read_changes((SELECT place FROM followed WHERE follower = name), n) LOOP
		RETURN NEXT concat_ws(' ', read.kind, read.resource, read.etag,
			(read.document::jsonb - 'id' - '_etag' - '_lastModifiedDate')::text, read.old_key, read.new_key);
		last := read.next_cursor;
	END LOOP;
	INSERT INTO followed (follower, place) VALUES (name, last)
	ON CONFLICT (follower) DO UPDATE SET place = EXCLUDED.place;
END $function$;

-- What a client reads that asks for all after the number up to which it has read.
CREATE OR REPLACE FUNCTION windows(resource text DEFAULT 'sessions') RETURNS SETOF text LANGUAGE plpgsql AS $function$
DECLARE
	saved CONSTANT bigint := COALESCE((SELECT number FROM followed WHERE follower = 'windows'), 0);
	newest CONSTANT bigint := (SELECT v.newest FROM dms.available_change_versions() AS v);
BEGIN
	IF newest < saved THEN
		RETURN NEXT 'the newest number has fallen';
	END IF;
	RETURN QUERY SELECT concat_ws(' ', 'document', c.etag, (c.document::jsonb - 'id' - '_etag' - '_lastModifiedDate')::text)
	FROM dms.changed_documents('isolation', resource, saved + 1, newest) AS c;
	INSERT INTO followed (follower, number) VALUES ('windows', newest)
	ON CONFLICT (follower) DO UPDATE SET number = EXCLUDED.number;
END $function$;

CREATE OR REPLACE VIEW deleted AS SELECT key_values FROM dms.deleted_documents('isolation', 'sessions', 0, 9223372036854775807);
CREATE OR REPLACE VIEW changed AS SELECT old_key_values, new_key_values FROM dms.changed_keys('isolation', 'sessions');
CREATE OR REPLACE VIEW findings AS SELECT kind, document_id FROM dms.audit();
