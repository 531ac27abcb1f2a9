-- More to start from, for specs of versions.  To be run after fixture.sql.  Specs call
-- history_off() in the end: others run without history.

SET LOCAL client_min_messages = warning;

CREATE OR REPLACE FUNCTION history_on(VARIADIC resources text[]) RETURNS void LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.configure_resource('isolation', r, jsonb_build_object('history', true)) FROM unnest(resources) AS r;
END;

CREATE OR REPLACE FUNCTION history_off() RETURNS void LANGUAGE plpgsql VOLATILE SET dms.purging = on AS $function$
BEGIN
	PERFORM dms.configure_resource(project, resource, '{"history": null, "retainVersions": null, "retainFor": null, "diff": null}')
	FROM dms.resource_options() WHERE options <> '{}';
	DELETE FROM dms.DocumentVersion;
	DELETE FROM dms.VersionDiff;
	DELETE FROM dms.Job;
	DELETE FROM dms.DeadJob;
END $function$;

CREATE OR REPLACE FUNCTION retain(resource text, versions int) RETURNS jsonb LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.configure_resource('isolation', resource, jsonb_build_object('retainVersions', versions));
END;

-- Documents by the name that their first version has, and what each version says.
CREATE OR REPLACE VIEW versions AS
SELECT COALESCE(f.Content ->> 'sessionName', f.Content ->> 'code', f.Content ->> 'enrollmentId',
		f.Content ->> 'title') AS document,
	v.VersionNumber AS version, v.Kind AS kind,
	v.Content::jsonb - 'id' - '_etag' - '_lastModifiedDate' AS content
FROM dms.DocumentVersion AS v
JOIN (SELECT DISTINCT ON (DocumentUuid) DocumentUuid, Content FROM dms.DocumentVersion
	ORDER BY DocumentUuid, VersionNumber) AS f USING (DocumentUuid)
ORDER BY 1, 2, v.DocumentUuid;

-- Promises about versions that are broken, of documents that have any.
CREATE OR REPLACE VIEW version_trouble AS
SELECT 'the current version differs' AS what, d.DocumentId AS id, d.Etag AS version
FROM dms.Document AS d
JOIN dms.DocumentVersion AS v ON (v.DocumentUuid, v.VersionNumber) = (d.DocumentUuid, d.Etag)
WHERE v.Content::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text OR v.CreatedAt <> d.LastModifiedAt
UNION ALL SELECT 'the current version is missing', d.DocumentId, d.Etag FROM dms.Document AS d
WHERE d.DocumentUuid IN (SELECT DocumentUuid FROM dms.DocumentVersion)
  AND (d.DocumentUuid, d.Etag) NOT IN (SELECT DocumentUuid, VersionNumber FROM dms.DocumentVersion)
UNION ALL SELECT 'a number is missing', NULL, min(VersionNumber) FROM dms.DocumentVersion
GROUP BY DocumentUuid HAVING count(*) <> max(VersionNumber) - min(VersionNumber) + 1
UNION ALL SELECT 'the time falls', NULL, w.VersionNumber FROM dms.DocumentVersion AS v
JOIN dms.DocumentVersion AS w ON w.DocumentUuid = v.DocumentUuid AND w.VersionNumber > v.VersionNumber
WHERE w.CreatedAt < v.CreatedAt
UNION ALL SELECT 'a deletion is not recorded', NULL, max(VersionNumber) FROM dms.DocumentVersion
WHERE DocumentUuid NOT IN (SELECT DocumentUuid FROM dms.Document)
GROUP BY DocumentUuid HAVING NOT (array_agg(Content IS NULL ORDER BY VersionNumber DESC))[1];

-- Restoring, with the part of the result that is the same in every run.
CREATE OR REPLACE FUNCTION restore(document_uuid uuid, version bigint, if_match bigint DEFAULT NULL,
	OUT outcome text, OUT etag bigint)
LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT r.outcome, r.etag FROM dms.restore_document(document_uuid, version, if_match) AS r;
END;

-- The id of a document by the name that its first version has, also if it is gone.
CREATE OR REPLACE FUNCTION kept_uuid(name text) RETURNS uuid LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT DocumentUuid FROM dms.DocumentVersion
	WHERE VersionNumber = 1 AND Content ->> 'sessionName' = name ORDER BY DocumentUuid LIMIT 1;
END;
