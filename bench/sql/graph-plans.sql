-- The plans behind each row of the table of keys, as SQL: all by index.
SELECT d.DocumentId AS many FROM dms.Document AS d JOIN bench.ends AS e ON e.id = d.DocumentUuid WHERE e.name = 'many' \gset
SELECT ChildDocumentId AS child, ChildTypeId AS type, ChildUuid AS uuid FROM dms.ParentChild WHERE ParentDocumentId = :many LIMIT 1 \gset
\echo 'Resource#{urn}'
EXPLAIN (COSTS OFF) SELECT * FROM dms.Document WHERE DocumentUuid = :'uuid';
\echo 'Parent#{urn}, Child#{urn}'
EXPLAIN (COSTS OFF) SELECT ChildUuid FROM dms.ParentChild WHERE ParentDocumentId = :many AND ChildTypeId = :type ORDER BY ChildUuid LIMIT 25;
\echo 'the same, inverted'
EXPLAIN (COSTS OFF) SELECT ParentDocumentId FROM dms.ParentChild WHERE ChildDocumentId = :child;
\echo 'Collection#{urn}, Member#{urn}'
EXPLAIN (COSTS OFF) SELECT MemberUuid FROM dms.CollectionMember WHERE CollectionDocumentId = :many AND MemberTypeId = :type ORDER BY MemberUuid LIMIT 25;
\echo 'one item'
EXPLAIN (COSTS OFF) SELECT * FROM dms.CollectionMember WHERE CollectionDocumentId = :many AND MemberDocumentId = :child;
\echo 'the same, inverted'
EXPLAIN (COSTS OFF) SELECT CollectionDocumentId FROM dms.CollectionMember WHERE MemberDocumentId = :child;
\echo 'ResourcesByAccountIndex'
EXPLAIN (COSTS OFF) SELECT DocumentUuid FROM dms.DocumentAccount WHERE AccountId = :many AND ResourceTypeId = :type ORDER BY DocumentUuid LIMIT 25;
\echo 'UniqueKeyValue#{type}#{key}#{value}'
EXPLAIN (COSTS OFF) SELECT * FROM dms.UniqueKeyValue WHERE ResourceType = 'System.Job' AND Key = 'code' AND Value = '1';
