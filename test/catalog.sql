-- All objects of a store that are not members of the extension, and its records of the
-- schema, one line each, without regard to the positions of columns.  The setting
-- dms_test.schemas has the schemas of the tables.
WITH place AS (SELECT oid FROM pg_namespace WHERE nspname = ANY (string_to_array(current_setting('dms_test.schemas'), ','))),
relation AS (SELECT c.* FROM pg_class c JOIN place p ON p.oid = c.relnamespace)
SELECT format('%s %s %s %s %s %s', oid::regclass, relkind, relowner::regrole, relacl, reloptions, obj_description(oid, 'pg_class')) AS line
FROM relation WHERE relkind <> 'c'
UNION ALL
SELECT format('%s.%s %s %s %s %s %s', r.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
	pg_get_expr(d.adbin, d.adrelid), col_description(r.oid, a.attnum))
FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE r.relkind IN ('r', 'v')
UNION ALL
SELECT format('%s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(k.oid), convalidated)
FROM pg_constraint k JOIN relation r ON r.oid = k.conrelid
UNION ALL
SELECT pg_get_indexdef(r.oid) || ' ' || i.indisvalid FROM relation r JOIN pg_index i ON i.indexrelid = r.oid
UNION ALL
SELECT format('%s %s', oid::regclass, pg_get_viewdef(oid)) FROM relation WHERE relkind = 'v'
UNION ALL
SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT format('%s %s %s', p.proowner::regrole, p.proacl, pg_get_functiondef(p.oid)) FROM pg_proc p JOIN place s ON s.oid = p.pronamespace
WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
UNION ALL
SELECT format('%s %s', EdgeSourceId, EdgeSourceKey) FROM dms.EdgeSource
UNION ALL
SELECT format('%s.%s %s %s %s %s %s', ProjectName, ResourceName, Kind, CanChange, IdentityRank, LoadOrder, Model) FROM dms.ResourceModel
UNION ALL
SELECT format('%s %s %s %s', ResourceTypeId, ProjectName, ResourceName, ResourceType) FROM dms.ResourceType
