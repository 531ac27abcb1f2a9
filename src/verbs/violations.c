/*
 * violations.c
 *		Reporting a violated constraint of the store as a rule of the document.
 *
 * Everything that can be checked beforehand is checked; races remain, which the
 * database decides.  Constraint names follow from the model, so they lead back
 * to a place in the document.
 */
#include "postgres.h"

#include "base/report.h"
#include "schema/declaredkeys.h"
#include "verbs/violations.h"

/* "schoolId = 123, schoolYear = 2030" */
static char *
DescribeIdentity(const FlatDocument *flat)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < flat->model->nidentity; i++)
		appendStringInfo(&text, "%s%s = %s", i > 0 ? ", " : "",
						 flat->model->identity[i].path, flat->identity[i]);
	return text.data;
}

/* Find the reference whose foreign key has this name; NULL if there is none. */
static const ReferenceModel *
ReferenceOfConstraint(const ResourceModel *model, const char *constraint)
{
	for (int i = 0; i < model->ntables; i++)
		for (int j = 0; j < model->tables[i].ncolumns; j++)
		{
			const ColumnModel *column = &model->tables[i].columns[j];

			if (column->foreign_key && column->reference >= 0 &&
				strcmp(column->foreign_key, constraint) == 0)
				return &model->references[column->reference];
		}
	return NULL;
}

/* Count the references of the document at this place of its model. */
static int
CountUses(const FlatDocument *flat, const ReferenceModel *reference)
{
	int			n = 0;

	for (int i = 0; i < flat->nuses; i++)
		n += flat->uses[i].reference == reference;
	return n;
}

/*
 * Report that a document that was referred to has been deleted since it was looked
 * up.  The violation does not say which element of an array it is about, so all
 * are named.
 */
static void
RaiseUnresolved(const FlatDocument *flat, const ReferenceModel *reference, const ErrorData *error)
{
	Problem    *problem = ProblemNew(reference->descriptor ?
									 PROBLEM_UNRESOLVED_DESCRIPTOR : PROBLEM_UNRESOLVED_REFERENCE);
	bool		one = CountUses(flat, reference) == 1;

	problem->cause = error;
	for (int i = 0; i < flat->nuses; i++)
		if (flat->uses[i].reference == reference)
			ProblemAt(problem, JsonTreePath(flat->uses[i].node), "%s.%s was deleted meanwhile%s.",
					  reference->project, reference->resource, one ? "" : ", or another one in this array");
	ProblemRaise(problem, "document refers to %s that do not exist",
				 reference->descriptor ? "descriptors" : "documents");
}

/* Report that another document has the identity; the cause may be NULL. */
static void
pg_attribute_noreturn()
RaiseIdentityTaken(const FlatDocument *flat, const ErrorData *error)
{
	Problem    *problem = ProblemNew(PROBLEM_IDENTITY_TAKEN);

	problem->cause = error;
	ProblemNote(problem, "Another document has the identity %s%s%s.", DescribeIdentity(flat),
				flat->model->superclass_resource ? ", or shares it through " : "",
				flat->model->superclass_resource ? flat->model->superclass_resource : "");
	ProblemRaise(problem, "identity of %s is taken by another document", flat->model->resource);
}

/* Report that another document has the identity, which was found before it was violated. */
void
ViolationRaiseTaken(const FlatDocument *flat)
{
	RaiseIdentityTaken(flat, NULL);
}

/*
 * Returns true if the constraint is the natural key of the resource, or a key
 * of the tables of identities or descriptors.  The ids of documents are unique, too, and
 * some clients choose them.
 */
static bool
IsIdentityKey(const ResourceModel *model, const char *constraint)
{
	if (strcmp(constraint, "referentialidentity_pkey") == 0 ||
		strcmp(constraint, "document_documentuuid_uq") == 0 ||
		strcmp(constraint, "descriptor_nk") == 0)
		return true;
	for (int i = 0; i < model->tables[0].nuniques; i++)
		if (model->tables[0].uniques[i].natural_key &&
			strcmp(model->tables[0].uniques[i].name, constraint) == 0)
			return true;
	return false;
}

/* Returns the column of the root table whose declared unique key has this name; -1 if there is none. */
static int
ColumnOfKey(const ResourceModel *model, const char *constraint)
{
	const TableModel *root = &model->tables[0];

	for (int i = root->nkeys; model->kind == RESOURCE_PLAIN && i < root->ncolumns; i++)
		if (root->columns[i].role == COLUMN_SCALAR && strcmp(DeclaredKeyConstraint(model, i), constraint) == 0)
			return i;
	return -1;
}

/* Report that another document has a value that must be unique. */
static void
RaiseValueTaken(const FlatDocument *flat, int column, const ErrorData *error)
{
	Problem    *problem = ProblemNew(PROBLEM_VALUE_TAKEN);
	const char *path = flat->model->tables[0].columns[column].path;

	problem->cause = error;
	ProblemAt(problem, path, "Another document of %s.%s has this value.", flat->model->project, flat->model->resource);
	ProblemRaise(problem, "value of %s is taken by another document of %s", path, flat->model->resource);
}

/*
 * Returns true if a text has more different words than the index for searches can take.
 * The limit has no error code of its own; the identifier of the message is the same in
 * all languages.
 */
static bool
IsTooManyWords(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED && error->message_id != NULL &&
		strncmp(error->message_id, "string is too long for tsvector", 31) == 0;
}

/* Report a document with too many words. */
static void
RaiseTooManyWords(const ErrorData *error)
{
	Problem    *problem = ProblemNew(PROBLEM_BODY_NOT_VALID);

	problem->cause = error;
	ProblemAt(problem, "$", "has more different words than can be searched: %s.", error->message);
	ProblemRaiseInvalid(problem);
}

/*
 * Raise a violation that follows from the document as a problem of the document.
 * Returns if it is none, or if it was reported already, such as one of a document
 * that follows the identity of this one.
 */
void
ViolationReport(const FlatDocument *flat, const ErrorData *error)
{
	const ReferenceModel *reference;

	if (IsTooManyWords(error))
		RaiseTooManyWords(error);
	if (error->constraint_name == NULL || ProblemRaised(error))
		return;
	reference = ReferenceOfConstraint(flat->model, error->constraint_name);
	if (error->sqlerrcode == ERRCODE_FOREIGN_KEY_VIOLATION && reference != NULL)
		RaiseUnresolved(flat, reference, error);
	if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION &&
		IsIdentityKey(flat->model, error->constraint_name))
		RaiseIdentityTaken(flat, error);
	if (error->sqlerrcode == ERRCODE_UNIQUE_VIOLATION)
	{
		int			column = ColumnOfKey(flat->model, error->constraint_name);

		if (column >= 0)
			RaiseValueTaken(flat, column, error);
	}
}
