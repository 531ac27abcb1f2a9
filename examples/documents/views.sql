-- Documents and versions as two tables, for reports and SQL of one's own.
CREATE OR REPLACE VIEW docs.documents AS
SELECT d.DocumentUuid AS id, t.title,
	COALESCE(d.CreatedBy, (SELECT v.CreatedBy FROM dms.DocumentVersion AS v WHERE v.DocumentUuid = d.DocumentUuid
		ORDER BY v.VersionNumber LIMIT 1)) AS created_by,
	d.DocumentUuid || '@' || d.Etag AS current_version_id, d.CreatedAt AS created_at
FROM docs.document AS t
JOIN dms.Document AS d ON d.DocumentId = t.documentid;
COMMENT ON VIEW docs.documents IS 'documents; their current version is computed from the etag';

CREATE OR REPLACE VIEW docs.versions AS
SELECT v.DocumentUuid || '@' || v.VersionNumber AS id, v.DocumentUuid AS document_id,
	v.VersionNumber AS version_number, v.Content ->> 'content' AS content, v.CreatedAt AS created_at
FROM dms.DocumentVersion AS v
JOIN dms.ResourceType AS r ON r.ResourceTypeId = v.ResourceTypeId
WHERE (r.ProjectName, r.ResourceName) = ('Docs', 'Document') AND v.Content IS NOT NULL;
COMMENT ON VIEW docs.versions IS 'versions of documents, for administrators';
