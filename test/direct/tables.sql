-- Prints every table of a database with its rows, for ./check direct.  Ids that are made at
-- random (UUIDs of versions 4 and 7), times, and hashes of bodies with such ids differ between
-- any two runs, so they are replaced.  So are numbers of changes, which are those of transactions,
-- cursors, and ReferentialIds of documents whose identity is an id of their own.  Rows of the
-- journal that are not current any more are left out: statistics decide when they are deleted.
SET search_path = pg_catalog;
SET row_security = off;
SELECT format($query$
	SELECT 'table %1$s' UNION ALL
	SELECT * FROM (SELECT regexp_replace(regexp_replace(regexp_replace(regexp_replace(%2$s,
			'[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}', 'uuid', 'g'),
			'[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}[-+.:0-9Z]*', 'time', 'g'),
			'[0-9a-f]{64}', 'hash', 'g'),
			'\m1[.][0-9a-f]+[.][0-9]+[.][0-9]+[.][0-9a-f]+[.][0-9]+:[0-9]+:[0-9,]*', 'cursor', 'g') COLLATE "C"
	FROM %1$s AS t %3$s ORDER BY 1) AS rows$query$, c.oid::regclass, CASE c.oid::regclass::text
		WHEN 'dms.documentchange' THEN '(t.ResourceTypeId, t.DocumentId, t.Etag)::text'
		WHEN 'dms.trackedchange' THEN '(t.ResourceTypeId, t.DocumentId, t.Etag, t.Kind, t.DocumentUuid, t.OldKey, t.NewKey,'
			' CASE WHEN t.OldKey::text !~ ''documentUuid'' THEN t.OldReferentialId END, t.OldAliasId)::text'
		WHEN 'dms.referentialidentity' THEN
			'(CASE WHEN t.ProjectName NOT IN (''Docs'', ''System'') THEN t.ReferentialId END, t.DocumentId, t.ProjectName, t.ResourceName)::text'
		WHEN 'dms.store' THEN '(t.ChangeTracking, t.Generation)::text'
		ELSE 't::text' END, CASE c.oid::regclass::text
		WHEN 'dms.documentchange' THEN 'WHERE EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = t.DocumentId AND d.Etag = t.Etag)'
		ELSE '' END)
FROM pg_class AS c
WHERE c.relkind = 'r' AND c.oid >= 16384 AND c.relpersistence = 'p'
ORDER BY c.oid::regclass::text COLLATE "C"
\gexec
