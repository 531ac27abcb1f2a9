/*
 * documentsql.h
 *		How statements of other modules read dms.Document.
 *
 * The document module owns the table: it has the statements that write it.  Modules
 * whose own tables have rows about documents join them, or ask whether they are there,
 * by these parts of SQL.
 */
#ifndef DMS_DOCUMENTSQL_H
#define DMS_DOCUMENTSQL_H

/* The table, to follow FROM or JOIN. */
#define DOCUMENTS_SQL(alias) "dms.Document AS " alias

/* The documents with the numbers of their resources, t. */
#define DOCUMENTS_WITH_TYPES_SQL \
	DOCUMENTS_SQL("d") " JOIN dms.ResourceType AS t ON t.ProjectName OPERATOR(pg_catalog.=) d.ProjectName" \
	" AND t.ResourceName OPERATOR(pg_catalog.=) d.ResourceName"

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

/*
 * A trigger that calls the function of its name after each statement that deletes
 * documents, if there is no condition (" WHEN (...)"), or if that holds.
 */
#define DOCUMENT_TRIGGER_SQL(name, condition) \
	"CREATE TRIGGER " name " AFTER DELETE ON dms.Document REFERENCING OLD TABLE AS gone" \
	" FOR EACH STATEMENT" condition " EXECUTE FUNCTION dms." name "()"
#define DOCUMENT_NO_TRIGGER_SQL(name) "DROP TRIGGER " name " ON dms.Document"

#endif							/* DMS_DOCUMENTSQL_H */
