/*
 * generatedid.c
 *		Identities that the store makes: the option "generatedId".
 *
 * The only part of the identity is a UUID, and it is the id of the document, too.  A
 * body that does not have it gets it before it is checked.
 */
#include "postgres.h"

#include "base/uuid.h"
#include "document/generatedid.h"
#include "engine/coresql.h"
#include "engine/result.h"
#include "engine/statement.h"
#include "model/optionpaths.h"
#include "utils/builtins.h"

/* Values that are named in a message. */
#define MAX_NAMED 10

/* Set the text of a node, which becomes a string. */
static void
SetText(JNode *node, const char *text)
{
	node->kind = JNODE_STRING;
	node->text = text;

	node->length = strlen(text);
}

/* Give a body this id unless it has one; returns true if it had none. */
bool
GeneratedIdFill(JNode *body, const char *property, const pg_uuid_t *uuid)
{
	JNode	   *node = JsonTreeMember(body, property);

	if (node != NULL && node->kind != JNODE_NULL)
		return false;
	if (node == NULL)
		node = JsonTreeAdd(body, JNODE_STRING, property);
	SetText(node, UuidText(uuid));
	return true;
}

/*
 * Read the id of a body that was checked, and bring it into the form that we write.
 * Refuses a text that is no UUID.
 */
void
GeneratedIdRead(JNode *body, const char *property, pg_uuid_t *uuid)
{
	JNode	   *node = JsonTreeMember(body, property);
	Problem    *problem;

	if (UuidParse(node->text, uuid))
	{
		SetText(node, UuidText(uuid));
		return;
	}
	problem = ProblemNew(PROBLEM_BODY_NOT_VALID);
	ProblemAt(problem, JsonTreePath(node), "must be a UUID.");
	ProblemRaiseInvalid(problem);
}

/*
 * Find documents whose identity, which is in this column, is not their id: ids cannot
 * be generated beside them.
 */
void
GeneratedIdFindOthers(const ResourceModel *model, int column, Problem *problem)
{
	const TableModel *root = &model->tables[0];
	const char *name = quote_identifier(root->columns[column].name);
	const char *sql = psprintf("SELECT t.%s::pg_catalog.text FROM %s AS t"
							   DOCUMENT_JOIN_SQL("d", "t.%s")
							   " WHERE t.%s::pg_catalog.text OPERATOR(pg_catalog.<>) d.DocumentUuid::pg_catalog.text"
							   " ORDER BY t.%s LIMIT %d", name, quote_qualified_identifier(root->schema, root->name),
							   quote_identifier(root->columns[0].name), name, quote_identifier(root->columns[0].name),
							   MAX_NAMED);
	uint64		n = StatementExecuteWithArgs(sql, 0, NULL, NULL, true);

	for (uint64 i = 0; i < n; i++)
		ProblemNote(problem, "\"" OPTION_GENERATED_ID "\": there is a document whose identity \"%s\" is not its id.", ResultText(i, 1));
	ResultFree();
}
