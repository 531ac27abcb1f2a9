-- The store of the document system: a schema, and the options of its only resource.
-- Beside another schema, set isExtensionProject to true and deploy both together.
CREATE EXTENSION IF NOT EXISTS dms;
\set documents `cat "$DOCUMENTS_SCHEMA"`
SELECT dms.deploy_schema(:'documents') IS NOT NULL AS deployed;
SELECT dms.configure_resource('docs', 'documents', '{"history": true, "diff": "bullmq",
	"generatedId": "$.documentUuid", "title": "$.title", "content": "$.content",
	"search": ["$.title"], "searchIndex": "documents_title_search_idx"}');
