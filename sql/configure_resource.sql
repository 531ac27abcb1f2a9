-- Options of single resources, which their owner sets beside the schema.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_configure_resource;
CREATE DATABASE dms_configure_resource TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_configure_resource
SET client_min_messages = warning;
CREATE EXTENSION dms;
\set VERBOSITY terse
-- Without a store there is nothing to configure.
SELECT dms.configure_resource('Cascade', 'Session', '{}');
SELECT * FROM dms.resource_options();
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/cascade.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\pset null (null)

-- All options that hold then are returned.  Given ones replace, others stay, and null
-- removes one.  Names are those of the resource or of its endpoint, in any case.
SELECT dms.configure_resource('Cascade', 'Session', '{}');
SELECT dms.configure_resource('Cascade', 'Session', '{"retainVersions": 10, "historyLevel": "admin"}');
SELECT dms.configure_resource('cascade', 'sessions', '{"history": true, "historyLevel": "reader"}');
SELECT dms.configure_resource('Cascade', 'Session', '{"retainVersions": null, "retainFor": null}');
SELECT dms.configure_resource('Cascade', 'School', '{"history": true, "retainFor": "90 days"}');

-- Readers see them: all, those of a project, or those of one resource; and in the
-- description of the resource.
SELECT resource, options FROM dms.resource_options() WHERE options <> '{}';
SELECT count(*) = (SELECT count(*) FROM dms.resources() WHERE kind <> 'abstract') AS all_resources FROM dms.resource_options('CASCADE');
SELECT * FROM dms.resource_options('cascade', 'SESSIONS');
SELECT * FROM dms.resource_options('cascade', 'nothing');
SELECT part, name, type FROM dms.describe_resource('Cascade', 'School') WHERE part = 'option';

-- An interval is stored in one form, whatever the settings of the session.
SET IntervalStyle = sql_standard;
SELECT dms.configure_resource('Cascade', 'School', jsonb_build_object('retainFor', i)) ->> 'retainFor' AS stored, i
FROM unnest(ARRAY['1 year 2 months', 'P3W', '36:00', '1 day 01:00:00.5', '-1 day 48 hours']) AS i;
SHOW IntervalStyle;
RESET IntervalStyle;

-- All mistakes are named, and nothing is changed.
\set VERBOSITY default
SELECT dms.configure_resource('Cascade', 'School', '{"History": true, "historyLevel": "owner", "retainVersions": 0,
	"retainFor": "a while", "history": false}');
\set VERBOSITY terse
SELECT options FROM dms.resource_options('Cascade', 'School');
CREATE FUNCTION pg_temp.refused(key text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM dms.configure_resource('Cascade', 'Note', format('{"%s": %s}', key, value)::jsonb);
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || (detail::json -> 'errors' ->> 0);
END $$;
BEGIN;
SELECT key, string_agg(value, ' ' ORDER BY value COLLATE "C") FILTER (WHERE refused IS NOT NULL) AS refused,
	string_agg(value, ' ' ORDER BY value COLLATE "C") FILTER (WHERE refused IS NULL) AS taken, string_agg(DISTINCT refused, E'\n') AS why
FROM unnest(ARRAY['history', 'historyLevel', 'retainVersions', 'retainFor']) AS key,
	unnest(ARRAY['-1', '0', '1', '1.5', '2147483648', '1e400', '""', '"1"', '"admin"', '"-1 s"', '"0"', '"1 s"', '"200000 years"',
		'"1e400 years"', '[1]', '{}', 'true', 'false']) AS value,
	LATERAL pg_temp.refused(key, value) AS refused
GROUP BY key ORDER BY key COLLATE "C";
ROLLBACK;
SELECT dms.configure_resource('Cascade', 'Note', '[]');
SELECT dms.configure_resource('Cascade', 'Note', '7');
SELECT dms.configure_resource('Cascade', 'Note', NULL);
SELECT dms.configure_resource(NULL, 'Note', '{}');
SELECT dms.configure_resource('Cascade', 'Nothing', '{}');
SELECT dms.configure_resource('Nothing', 'Note', '{}');
SELECT resource AS abstract FROM dms.resources() WHERE kind = 'abstract' ORDER BY 1 LIMIT 1 \gset
SELECT dms.configure_resource('Cascade', :'abstract', '{}');

-- A call that changes nothing writes nothing.  One that does raises the generation.
SELECT xmin AS written, UpdatedAt AS updated FROM dms.ResourceType WHERE ResourceName = 'Session' \gset
SELECT Generation AS generation FROM dms.Store \gset
SELECT dms.configure_resource('Cascade', 'Session', '{"history": true}');
SELECT xmin = :'written' AS same_row, UpdatedAt = :'updated' AS same_time FROM dms.ResourceType WHERE ResourceName = 'Session';
SELECT Generation - :generation AS raised FROM dms.Store;
SELECT dms.configure_resource('Cascade', 'Session', '{"retainVersions": 3}');
SELECT xmin = :'written' AS same_row, UpdatedAt > :'updated' AS later FROM dms.ResourceType WHERE ResourceName = 'Session';
SELECT Generation - :generation AS raised FROM dms.Store;
BEGIN READ ONLY;
SELECT dms.configure_resource('Cascade', 'Session', '{"retainVersions": 3}');
SELECT dms.configure_resource('Cascade', 'Session', '{"retainVersions": 4}');
ROLLBACK;
-- The same schema again keeps them.
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT options FROM dms.resource_options('Cascade', 'Session');

-- Administrators configure, without being superusers or the owner.
CREATE ROLE regress_options_reader;
CREATE ROLE regress_options_admin;
SELECT dms.grant_access('regress_options_reader', 'writer');
SELECT dms.grant_access('regress_options_admin', 'admin');
SET ROLE regress_options_reader;
SELECT dms.configure_resource('Cascade', 'Session', '{}');
SELECT options FROM dms.resource_options('Cascade', 'Session');
SET ROLE regress_options_admin;
SELECT dms.configure_resource('Cascade', 'Session', '{"retainVersions": null}');
UPDATE dms.ResourceType SET Options = '{}';
RESET ROLE;

-- A resource that is not recorded has no options, and cannot be given any.
BEGIN;
DELETE FROM dms.ResourceType WHERE ResourceName = 'Session';
SELECT part, name, type FROM dms.describe_resource('Cascade', 'Session') WHERE part = 'option';
SELECT dms.configure_resource('Cascade', 'Session', '{"history": true}');
ROLLBACK;

DROP OWNED BY regress_options_reader, regress_options_admin;
\c :home
DROP DATABASE dms_configure_resource;
DROP ROLE regress_options_reader, regress_options_admin;
