-- Changing the schema of a store where something is lost or has another name.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_losses;
DROP DATABASE IF EXISTS dms_losses_new;
CREATE DATABASE dms_losses TEMPLATE template0 ENCODING 'UTF8';
CREATE DATABASE dms_losses_new TEMPLATE template0 ENCODING 'UTF8';
\getenv top PG_ABS_SRCDIR
\set file :top /test/catalog.sql
\set catalog `cat :'file'`
\set short :top /test/schemas/short.sql
\c dms_losses_new
SET client_min_messages = warning;
CREATE EXTENSION dms;
\i :short
\c dms_losses
SET client_min_messages = warning;
CREATE EXTENSION dms;
\i :short
\set VERBOSITY terse

-- Things are at places, and events happen to things.
SELECT '{"type": "string", "maxLength": 30}' AS text30 \gset
SELECT jsonb_build_object(
	'Place', '{"identity": ["$.placeId"], "required": ["placeId"], "properties": {"placeId": {"type": "integer"}, "name": {"type": "string", "maxLength": 30}}}'::jsonb,
	'Thing', '{"identity": ["$.thingId"], "required": ["thingId"], "references": {"place": {"resource": "Place", "members": {"placeId": "$.placeId"}}},
		"descriptors": {"$.colorDescriptor": "ColorDescriptor"},
		"properties": {"thingId": {"type": "string", "maxLength": 30}, "label": {"type": "string", "maxLength": 30}, "size": {"type": "integer"},
			"colorDescriptor": {"type": "string"}, "tags": {"type": "array", "items": {"type": "object", "required": ["tag"],
				"properties": {"tag": {"type": "string", "maxLength": 30}, "note": {"type": "string", "maxLength": 30}}}}}}'::jsonb,
	'Event', '{"identity": ["$.eventId", "$.thingReference.thingId"], "required": ["eventId", "thingReference"],
		"references": {"thing": {"resource": "Thing", "members": {"thingId": "$.thingId"}}}, "properties": {"eventId": {"type": "string", "maxLength": 30}}}'::jsonb,
	'ColorDescriptor', '{"isDescriptor": true, "required": ["codeValue", "namespace", "shortDescription"], "properties": {
		"codeValue": {"type": "string", "maxLength": 50}, "namespace": {"type": "string", "maxLength": 255},
		"shortDescription": {"type": "string", "maxLength": 75}, "description": {"type": "string", "maxLength": 1024},
		"effectiveBeginDate": {"type": "string", "format": "date"}, "effectiveEndDate": {"type": "string", "format": "date"}}}'::jsonb) AS now \gset
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
CREATE FUNCTION public.post(resource text, body json) RETURNS text LANGUAGE sql AS
$$ SELECT outcome || ' ' || document_id FROM dms.upsert_document('m', resource, body) $$;
SELECT public.post('colordescriptors', '{"codeValue": "Red", "namespace": "uri://m/ColorDescriptor", "shortDescription": "Red"}');
SELECT public.post('places', json_build_object('placeId', i, 'name', 'Place ' || i)) FROM generate_series(1, 2) AS i;
SELECT public.post('things', '{"thingId": "a", "label": "A", "size": 7, "colorDescriptor": "uri://m/ColorDescriptor#Red",
	"placeReference": {"placeId": 1}, "tags": [{"tag": "x", "note": "n"}, {"tag": "y"}]}');
SELECT public.post('things', '{"thingId": "b", "placeReference": {"placeId": 1}}');
SELECT public.post('things', '{"thingId": "c", "label": "a long label", "placeReference": {"placeId": 2}}');
SELECT public.post('events', json_build_object('eventId', 'e', 'thingReference', json_build_object('thingId', t))) FROM unnest('{a,b}'::text[]) AS t;

CREATE VIEW public.documents AS SELECT DocumentId AS id, ResourceName AS resource, Etag,
	dms.get_document(DocumentUuid)::jsonb - '{id,_etag,_lastModifiedDate}'::text[] AS body FROM dms.Document ORDER BY 1;
CREATE FUNCTION public.edit(short jsonb, VARIADIC edits text[]) RETURNS jsonb LANGUAGE plpgsql AS
$$ BEGIN
	FOR i IN 1 .. array_length(edits, 1) BY 2 LOOP
		short := CASE WHEN edits[i + 1] IS NULL THEN short #- edits[i]::text[] ELSE jsonb_set(short, edits[i]::text[], edits[i + 1]::jsonb) END;
	END LOOP;
	RETURN short;
END $$;
-- What a change would lose: the findings of the error.
CREATE FUNCTION public.losses(short jsonb, renames jsonb DEFAULT '{}') RETURNS TABLE (place text, loss text) LANGUAGE plpgsql AS
$$ DECLARE
	detail text;
BEGIN
	PERFORM dms.migrate_schema(ARRAY[public.short_schema(short)], renames => renames);
EXCEPTION WHEN SQLSTATE 'ZD422' THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN QUERY SELECT e.key, (SELECT string_agg(f, ' ') FROM jsonb_array_elements_text(e.value) AS f) FROM jsonb_each(detail::jsonb -> 'validationErrors') AS e;
END $$;
SELECT * FROM public.documents;

-- All that is lost is listed at once, and nothing is changed.
SELECT public.edit(:'now', '{Thing,properties,label}', NULL, '{Thing,properties,size,type}', '"string"', '{Thing,properties,tags}', NULL,
	'{Event}', NULL, '{ColorDescriptor}', NULL, '{Thing,properties,colorDescriptor}', NULL, '{Thing,descriptors}', NULL,
	'{Place,properties,code}', :'text30', '{Place,required}', '["placeId", "code"]', '{Place,properties,name,maxLength}', '5',
	'{Thing,identity}', '["$.thingId", "$.placeReference.placeId"]', '{Thing,required}', '["thingId", "placeReference"]') AS other \gset
SELECT * FROM public.losses(:'other');
SELECT dms.deploy_schema(public.short_schema(:'other'));

-- A collection that stays keeps its name.  A table with rows is nothing that a plan has
-- made: it is not taken for a new one, and nobody is given rights on it.
SELECT public.edit(:'now', '{Thing,properties,zips}', '{"type": "array", "items": {"type": "object", "required": ["zip"],
	"properties": {"zip": {"type": "string", "maxLength": 30}}}}') AS more \gset
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'more')], renames => '{"m.thingtag": "m.thingzip"}');
CREATE TABLE m.thingzip (secret text);
INSERT INTO m.thingzip VALUES ('nobody may read this');
\set VERBOSITY default
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'more')], true);
\set VERBOSITY terse
DROP TABLE m.thingzip;
SELECT * FROM dms.plan_migration(ARRAY[public.short_schema(:'other')]);
SELECT count(*) AS changed FROM public.documents WHERE Etag <> 1;

-- A resource that keeps versions is neither removed nor renamed, whatever the caller agrees
-- to.  It is listed with the others.
SELECT dms.configure_resource('m', 'Event', '{"history": true}');
SELECT * FROM public.losses(public.edit(:'now', '{Event}', NULL, '{Thing,properties,label}', NULL));
SELECT dms.migrate_schema(ARRAY[public.short_schema(public.edit(:'now', '{Event}', NULL))], true);
SELECT * FROM dms.plan_migration(ARRAY[public.short_schema(public.edit(:'now', '{Event}', NULL))], true);
SELECT * FROM public.losses(public.edit(:'now', '{Happening}', :'now'::jsonb ->> 'Event', '{Event}', NULL), '{"m.event": "m.happening"}');
SELECT dms.configure_resource('m', 'Event', '{"history": null}');
-- Nor can a resource have a name that an option has given to another one.
SELECT dms.configure_resource('m', 'Event', '{"resourceType": "M.Spot"}');
SELECT * FROM public.losses(public.edit(:'now', '{Spot}', :'now'::jsonb ->> 'Event'));
SELECT * FROM public.losses(public.edit(:'now', '{Spot}', :'now'::jsonb ->> 'Place', '{Place}', NULL, '{Thing,references,place,resource}', '"Spot"'), '{"m.place": "m.spot"}');
SELECT dms.configure_resource('m', 'Event', '{"resourceType": null}');

-- Names: a property, a collection, a property in it, and a resource.  The documents
-- that read otherwise have new etags.
SELECT public.edit(:'now', '{Thing,properties,size}', NULL, '{Thing,properties,extent}', '{"type": "integer"}',
	'{Thing,properties,marks}', replace(:'now'::jsonb #>> '{Thing,properties,tags}', 'note', 'remark'), '{Thing,properties,tags}', NULL,
	'{Site}', :'now'::jsonb ->> 'Place', '{Place}', NULL, '{Thing,references,place,resource}', '"Site"',
	'{HueDescriptor}', :'now'::jsonb ->> 'ColorDescriptor', '{ColorDescriptor}', NULL, '{Thing,descriptors}', '{"$.colorDescriptor": "HueDescriptor"}') AS now \gset
SELECT * FROM public.losses(:'now');
-- A column that was added by hand, for a change without renames, is not taken for the
-- one that gets its name: the values would seem to be lost.
BEGIN;
SELECT statement FROM dms.plan_migration(ARRAY[public.short_schema(:'now')], true)
WHERE statement LIKE ANY ('{%ADD COLUMN extent%,COMMENT ON COLUMN m.thing.extent%}') ORDER BY step \gexec
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], renames => '{"m.thing.size": "m.thing.extent",
	"m.thingtag": "m.thingmark", "m.thingtag.note": "m.thingmark.remark", "m.place": "m.site", "m.colordescriptor": "m.huedescriptor"}');
ROLLBACK;
-- What refers to the resource by its type follows.
SELECT dms.set_parent(c.DocumentUuid, p.DocumentUuid), dms.add_member(p.DocumentUuid, c.DocumentUuid), dms.set_account(c.DocumentUuid, p.DocumentUuid),
	outcome FROM dms.Document AS p, dms.Document AS c, dms.claim_unique_key('M.Place', 'code', 'x', c.DocumentUuid) AS outcome
WHERE (p.DocumentId, c.DocumentId) = (2, 3);
SELECT phase, statement, reason FROM dms.plan_migration(ARRAY[public.short_schema(:'now')], renames => '{"m.thing.size": "m.thing.extent",
	"m.thingtag": "m.thingmark", "m.thingtag.note": "m.thingmark.remark", "m.place": "m.site", "m.colordescriptor": "m.huedescriptor"}')
WHERE statement IS NULL OR statement NOT LIKE ALL ('{COMMENT%,%FUNCTION%}');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], renames => '{"m.thing.size": "m.thing.extent",
	"m.thingtag": "m.thingmark", "m.thingtag.note": "m.thingmark.remark", "m.place": "m.site", "m.colordescriptor": "m.huedescriptor"}') IS NOT NULL AS migrated;
SELECT * FROM public.documents;
SELECT * FROM dms.audit();
SELECT public.post('things', '{"thingId": "b", "placeReference": {"placeId": 1}}');
-- Names that explain nothing are refused, and so is what is no name.
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now', '2')], renames => '{"m.thing.size": "m.thing.label"}');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now', '2')], renames => '{"m": "m.thing", "m.thing.label": "m.thing", "m.a": 1}');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now', '2')], renames => '[]');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], NULL);

-- A reference becomes a part of the identity: ReferentialIds and edges change, and so
-- do references to the resource.
SELECT public.edit(:'now', '{Thing,identity}', '["$.thingId", "$.placeReference.placeId"]', '{Thing,required}', '["thingId", "placeReference"]',
	'{Event,references,thing,members}', '{"thingId": "$.thingId", "placeId": "$.placeReference.placeId"}',
	'{Event,identity}', '["$.eventId", "$.thingReference.placeId", "$.thingReference.thingId"]') AS now \gset
SELECT * FROM public.losses(:'now');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT * FROM public.documents WHERE resource IN ('Thing', 'Event');
-- Those who follow the store hear of the keys, with the etags of their documents.
SELECT 'things' AS resource, old_key_values, new_key_values FROM dms.changed_keys('m', 'things')
UNION ALL SELECT 'events', old_key_values, new_key_values FROM dms.changed_keys('m', 'events');
SELECT count(*) FILTER (WHERE d.Etag = c.Etag) AS fit, count(*) AS keys
FROM dms.TrackedChange AS c JOIN dms.Document AS d USING (DocumentId) WHERE c.Kind = 'K';
SELECT s.EdgeSourceKey, e.IsIdentityComponent, count(*) FROM dms.ReferenceEdge AS e JOIN dms.EdgeSource AS s USING (EdgeSourceId) GROUP BY 1, 2 ORDER BY 1;
SELECT * FROM dms.audit();
SELECT public.post('events', '{"eventId": "e", "thingReference": {"thingId": "b", "placeId": 1}}');

-- A superclass: documents get an identity and a member under its name.
SELECT public.edit(:'now', '{abstract}', '{"Spot": {"identityJsonPaths": ["$.spotId"]}}', '{Site,more}', '{"isSubclass": true, "subclassType": "domainEntity",
	"superclassProjectName": "M", "superclassResourceName": "Spot", "superclassIdentityJsonPath": "$.spotId"}') AS now \gset
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
SELECT * FROM m.spot_view ORDER BY 1;
SELECT * FROM m.spot_member ORDER BY 1;
SELECT * FROM dms.audit();
-- A wider number that the view reads: the view is made anew, with the rights of others.
GRANT SELECT ON m.spot_view TO PUBLIC;
SELECT public.edit(:'now', '{Site,properties,placeId,format}', '"int64"') AS now \gset
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
SELECT has_table_privilege('public', 'm.spot_view', 'SELECT') AS granted;
SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'm.spot_view'::regclass AND attname = 'spotid';
SELECT * FROM dms.audit();
-- And it is gone again.
SELECT public.edit(:'now', '{abstract}', NULL, '{Site,more}', NULL) AS now \gset
SELECT * FROM public.losses(:'now');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT to_regclass('m.spot_view') AS view, to_regclass('m.spot_member') AS members;
SELECT * FROM dms.audit();

-- Values that do not fit are lost; others are converted.  A number becomes a text.
SELECT public.edit(:'now', '{Thing,properties,extent}', :'text30', '{Thing,properties,label,maxLength}', '5') AS now \gset
SELECT * FROM public.losses(:'now');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT * FROM public.documents WHERE resource = 'Thing';
SELECT * FROM dms.audit();

-- And a text a number again, where it is one.
SELECT public.post('things', '{"thingId": "b", "placeReference": {"placeId": 1}, "extent": "-1.5"}');
SELECT public.post('things', '{"thingId": "c", "placeReference": {"placeId": 2}, "extent": "1e5"}');
SELECT public.edit(:'now', '{Thing,properties,extent}', '{"type": "number"}') AS now \gset
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT * FROM public.documents WHERE resource = 'Thing';
SELECT * FROM dms.audit();
-- Two properties swap the names of their columns.
SELECT public.edit(:'now', '{Thing,more}', '{"relational": {"nameOverrides": {"$.label": "Extent", "$.extent": "Label"}}}') AS swapped \gset
SELECT statement FROM dms.plan_migration(ARRAY[public.short_schema(:'swapped')]) WHERE statement LIKE '%RENAME%' ORDER BY step;
SELECT dms.deploy_schema(public.short_schema(:'swapped')) IS NOT NULL AS deployed;
SELECT label, extent FROM m.thing WHERE thingid = 'a';
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
SELECT * FROM public.documents WHERE resource = 'Thing' AND id = 4;

-- Rows without a value that is required are deleted; so are documents that have none.
SELECT public.edit(:'now', '{Thing,properties,marks,items,required}', '["tag", "remark"]', '{Event,properties,kind}', :'text30',
	'{Event,required}', '["eventId", "thingReference", "kind"]') AS now \gset
SELECT * FROM public.losses(:'now');
-- Not if they are given values first.
BEGIN;
SELECT statement FROM dms.plan_migration(ARRAY[public.short_schema(:'now')], true) WHERE phase = 'before' ORDER BY step \gexec
UPDATE m.event SET kind = 'some';
SELECT * FROM public.losses(:'now');
UPDATE m.thingmark SET remark = 'some' WHERE remark IS NULL;
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
SELECT * FROM public.documents WHERE resource IN ('Event', 'Thing');
ROLLBACK;
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT * FROM public.documents WHERE resource IN ('Event', 'Thing');
SELECT * FROM dms.audit();

-- A reference to another resource loses its values.
SELECT public.edit(:'now', '{Thing,references,partner}', '{"resource": "Site", "members": {"placeId": "$.placeId"}}',
	'{Other}', '{"identity": ["$.placeId"], "required": ["placeId"], "properties": {"placeId": {"type": "integer"}}}') AS now \gset
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
SELECT public.post('things', '{"thingId": "b", "placeReference": {"placeId": 1}, "partnerReference": {"placeId": 2}}');
SELECT public.edit(:'now', '{Thing,references,partner,resource}', '"Other"') AS now \gset
SELECT * FROM public.losses(:'now');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT * FROM public.documents WHERE resource = 'Thing';
SELECT * FROM dms.audit();

-- Properties, collections, references and resources are removed, with their documents.
SELECT public.edit(:'now', '{Thing,properties,label}', NULL, '{Thing,properties,marks}', NULL, '{Event}', NULL, '{HueDescriptor}', NULL,
	'{Thing,properties,colorDescriptor}', NULL, '{Thing,descriptors}', NULL) AS now \gset
SELECT * FROM public.losses(:'now');
SELECT dms.migrate_schema(ARRAY[public.short_schema(:'now')], true) IS NOT NULL AS migrated;
SELECT * FROM public.documents;
SELECT * FROM dms.audit();
SELECT count(*) AS edges FROM dms.ReferenceEdge;

-- The tables, and what is recorded about them, are those of a new store.  (Numbers of
-- resources are never forgotten.)
SET dms_test.schemas = 'dms,m';
WITH c AS MATERIALIZED (:catalog)
SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) AS changed FROM c WHERE line !~ '^-?[0-9]+ M ' \gset
\c dms_losses_new
SET client_min_messages = warning;
SELECT dms.deploy_schema(public.short_schema(:'now')) IS NOT NULL AS deployed;
SET dms_test.schemas = 'dms,m';
WITH c AS MATERIALIZED (:catalog)
SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C")) = :'changed' AS same FROM c WHERE line !~ '^-?[0-9]+ M ';
\c :database
DROP DATABASE dms_losses;
DROP DATABASE dms_losses_new;
