/*
 * coresql.h
 *		How statements of other modules read core tables.
 *
 * Each core table has one module, which has the statements that write it.  Where other
 * modules must join it in a statement of their own, or insert into it together with
 * other tables, they use these parts of SQL, so that only the owner and this header
 * name the table.
 */
#ifndef DMS_CORESQL_H
#define DMS_CORESQL_H

/* --- dms.Document, of document/document.c --------------------------------- */

/* The table, to follow FROM or JOIN. */
#define DOCUMENTS_SQL(alias) "dms.Document AS " alias

/* The start of a query for the ids of documents, to be followed by a condition on d. */
#define DOCUMENT_IDS_SQL "SELECT d.DocumentId FROM " DOCUMENTS_SQL("d") " WHERE "

/* The document with an id. */
#define DOCUMENT_JOIN_SQL(alias, id) \
	" JOIN " DOCUMENTS_SQL(alias) " ON " alias ".DocumentId OPERATOR(pg_catalog.=) " id

/* The document of a row, unless it has another etag by now. */
#define DOCUMENT_JOIN_CURRENT_SQL(alias, row) \
	DOCUMENT_JOIN_SQL(alias, row ".DocumentId") " AND " alias ".Etag OPERATOR(pg_catalog.=) " row ".Etag"

/* Conditions: there is a document with an id or a uuid; the document of a row has its etag still. */
#define DOCUMENT_EXISTS_SQL(id) \
	"EXISTS (SELECT FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.=) " id ")"
#define DOCUMENT_HAS_UUID_SQL(uuid) \
	"EXISTS (SELECT FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentUuid OPERATOR(pg_catalog.=) " uuid ")"
#define DOCUMENT_IS_CURRENT_SQL(row) \
	"EXISTS (SELECT FROM " DOCUMENTS_SQL("d") " WHERE d.DocumentId OPERATOR(pg_catalog.=) " row ".DocumentId" \
	" AND d.Etag OPERATOR(pg_catalog.=) " row ".Etag)"

/* The start of an INSERT of a new document. */
#define DOCUMENT_INSERT_SQL \
	"INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion, CreatedBy)"

/* The start of an INSERT of a document that was deleted, and gets its id and the next etag. */
#define DOCUMENT_RESTORE_SQL \
	"INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion, CreatedBy," \
	" Etag, LastModifiedAt)"

/*
 * A trigger that calls the function of its name after each statement that deletes
 * documents, if there is no condition (" WHEN (...)"), or if that holds.
 */
#define DOCUMENT_TRIGGER_SQL(name, condition) \
	"CREATE TRIGGER " name " AFTER DELETE ON dms.Document REFERENCING OLD TABLE AS gone" \
	" FOR EACH STATEMENT" condition " EXECUTE FUNCTION dms." name "()"
#define DOCUMENT_NO_TRIGGER_SQL(name) "DROP TRIGGER " name " ON dms.Document"

/* The tables from which the trigger of deleted documents deletes what is about them. */
#define TABLES_CLEARED_WITH_DOCUMENTS \
	"dms.ReferenceEdge", "dms.ReferentialIdentity", "dms.IdentityLock", "dms.ParentChild", \
	"dms.CollectionMember", "dms.UniqueKeyValue", "dms.DocumentAccount"

/* --- dms.ReferentialIdentity, of document/referentialids.c ---------------- */

/* The table, to follow FROM or JOIN. */
#define REFERENTIAL_IDS_SQL(alias) "dms.ReferentialIdentity AS " alias

/* The start of an INSERT of an identity, to be followed by its values. */
#define REFERENTIAL_ID_INSERT_SQL \
	"INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)"

/* --- dms.ReferenceEdge, of document/edges.c ------------------------------- */

/* The start of a query for the edges of a document that refers, to be followed by its id. */
#define EDGES_OF_PARENT_SQL \
	"SELECT ChildDocumentId, EdgeSourceId, IsIdentityComponent" \
	" FROM dms.ReferenceEdge WHERE ParentDocumentId OPERATOR(pg_catalog.=) "

/* The places of references, whose rows schema/deployrecord.c writes, to follow FROM or JOIN. */
#define EDGE_SOURCES_SQL(alias) "dms.EdgeSource AS " alias

/* --- dms.IdentityLock, of cascade/identitylocks.c ------------------------- */

/* The start of an INSERT of the lock row of a new document. */
#define IDENTITY_LOCK_INSERT_SQL "INSERT INTO dms.IdentityLock (DocumentId)"

/* --- dms.ResourceModel and dms.ResourceType, of the modules of their names in model/ --- */

/* The table of resources, to follow FROM or JOIN. */
#define RESOURCE_TYPES_SQL(alias) "dms.ResourceType AS " alias

/* The resource with a number. */
#define RESOURCE_TYPE_JOIN_SQL(alias, id) \
	" JOIN " RESOURCE_TYPES_SQL(alias) " ON " alias ".ResourceTypeId OPERATOR(pg_catalog.=) " id

/* The stored model of a resource, or NULL. */
#define RESOURCE_MODEL_LEFT_JOIN_SQL(alias, resource) \
	" LEFT JOIN dms.ResourceModel AS " alias \
	" ON " alias ".ProjectName OPERATOR(pg_catalog.=) " resource ".ProjectName" \
	" AND " alias ".ResourceName OPERATOR(pg_catalog.=) " resource ".ResourceName"

/* The documents with the numbers of their resources, t. */
#define DOCUMENTS_WITH_TYPES_SQL \
	DOCUMENTS_SQL("d") " JOIN " RESOURCE_TYPES_SQL("t") \
	" ON t.ProjectName OPERATOR(pg_catalog.=) d.ProjectName" \
	" AND t.ResourceName OPERATOR(pg_catalog.=) d.ResourceName"

/* --- dms.SchemaComponent, of schema/deployrecord.c ------------------------ */

/* The number of a version of a project: they count from 1 as they were deployed. */
#define PROJECT_VERSION_NUMBER_SQL(project, version) \
	"(SELECT pg_catalog.count(*)" \
	" FROM (SELECT pg_catalog.min(c.EffectiveSchemaId) AS first FROM dms.SchemaComponent AS c" \
	" WHERE c.ProjectName OPERATOR(pg_catalog.=) " project " GROUP BY c.ProjectVersion) AS v" \
	" WHERE v.first OPERATOR(pg_catalog.<=) (SELECT pg_catalog.min(o.EffectiveSchemaId) FROM dms.SchemaComponent AS o" \
	" WHERE o.ProjectName OPERATOR(pg_catalog.=) " project \
	" AND o.ProjectVersion OPERATOR(pg_catalog.=) " version "))"

/* --- the journal, of document/changes.c and document/trackedchanges.c ----- */

/* The tables, to follow FROM or JOIN. */
#define CHANGES_SQL(alias) "dms.DocumentChange AS " alias
#define TRACKED_CHANGES_SQL(alias) "dms.TrackedChange AS " alias

#endif							/* DMS_CORESQL_H */
