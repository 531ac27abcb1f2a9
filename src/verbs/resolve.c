/*
 * resolve.c
 *		dms.resolve(): from the identity of a document to its id.
 */
#include "postgres.h"

#include "base/jsonargument.h"
#include "base/jsontree.h"
#include "base/lowercase.h"
#include "base/referentialid.h"
#include "base/report.h"
#include "base/uuid.h"
#include "document/document.h"
#include "document/referentialids.h"
#include "engine/session.h"
#include "fmgr.h"
#include "model/value.h"
#include "utils/builtins.h"
#include "utils/uuid.h"
#include "verbs/read.h"

PG_FUNCTION_INFO_V1(dms_resolve);
PG_FUNCTION_INFO_V1(dms_resolve_jsonb);

/* Does a key of the caller name this identity value, by path or last name? */
static bool
KeyNames(const char *key, const char *path)
{
	const char *leaf = strrchr(path, '.');

	return strcmp(key, path) == 0 || (leaf != NULL && strcmp(key, leaf + 1) == 0);
}

/* The value given for a path; the whole path goes before its last name. */
static JNode *
FindGiven(JNode *identity, const char *path)
{
	JNode	   *given = JsonTreeMember(identity, path);
	const char *leaf = strrchr(path, '.');

	if (given == NULL && leaf != NULL)
		given = JsonTreeMember(identity, leaf + 1);
	return given;
}

/* A value in the form that is hashed; NULL, and noted, when it does not fit. */
static char *
IdentityValue(Problem *problem, const IdentityModel *part, JNode *given)
{
	ValueModel	value = {.min_length = -1,.max_length = -1,.precision = -1,.scale = -1};
	JNode		node;
	ValueFault	fault;

	if (given == NULL || given->kind == JNODE_NULL)
	{
		ProblemAt(problem, part->path, "is required.");
		return NULL;
	}
	node = *given;
	value.type = part->type;
	if (!ValueCanonicalise(&node, &value, false, &fault))
	{
		ProblemAt(problem, part->path, "%s", fault.message);
		return NULL;
	}
	return part->lower ? LowercaseInvariant(node.text, node.length) : pnstrdup(node.text, node.length);
}

/* A descriptor may also be named by its two halves. */
static void
JoinDescriptor(const ResourceModel *model, JNode *identity)
{
	JNode	   *space = JsonTreeMember(identity, "namespace");
	JNode	   *code = JsonTreeMember(identity, "codeValue");

	if (model->kind != RESOURCE_DESCRIPTOR || identity->nchildren != 2 ||
		space == NULL || space->kind != JNODE_STRING ||
		code == NULL || code->kind != JNODE_STRING)
		return;
	identity->first = identity->last = NULL;
	identity->nchildren = 0;
	JsonTreeAddText(identity, JNODE_STRING, "descriptor",
					psprintf("%s#%s", space->text, code->text));
}

/* Every key must name a part of the identity. */
static void
CheckKeys(Problem *problem, const ResourceModel *model, const JNode *identity)
{
	foreach_child(child, identity)
	{
		bool		known = false;

		for (int i = 0; i < model->nidentity; i++)
			known |= KeyNames(child->name, model->identity[i].path);
		if (!known)
			ProblemNote(problem, "\"%s\" is no part of the identity of %s.",
						child->name, model->resource);
	}
}

/* The ReferentialId of an identity; false when no document can have it. */
static bool
IdentityId(const ResourceModel *model, JNode *identity, pg_uuid_t *id)
{
	Problem    *problem = ProblemNew(PROBLEM_ARGUMENT);
	const char **paths = palloc(sizeof(char *) * Max(model->nidentity, 1));
	const char **values = palloc(sizeof(char *) * Max(model->nidentity, 1));
	bool		ambiguous = false;

	JoinDescriptor(model, identity);
	CheckKeys(problem, model, identity);
	for (int i = 0; i < model->nidentity; i++)
	{
		const IdentityModel *part = &model->identity[i];

		paths[i] = part->path;
		values[i] = IdentityValue(problem, part, FindGiven(identity, part->path));
		ambiguous |= values[i] != NULL && ReferentialIdValueIsAmbiguous(values[i]);
	}
	if (problem->count > 0)
		ProblemRaise(problem, "identity of %s is not valid", model->resource);
	if (ambiguous)
		return false;
	ReferentialId(model->project, model->resource, model->nidentity, paths, values, id);
	return true;
}

/* Find the uuid of the document that has a ReferentialId; returns false if none has. */
static bool
FindUuid(const pg_uuid_t *id, pg_uuid_t *uuid)
{
	IdSet	   *set = IdSetMake(id, 1);
	DocumentHeader header;

	ReferentialIdsLookUp(set);
	if (IdSetFind(set, id) == 0 || !DocumentHeaderRead(IdSetFind(set, id), &header))
		return false;
	*uuid = header.uuid;
	return true;
}

/* The id of the document that has this identity; NULL when there is none. */
Datum
dms_resolve(PG_FUNCTION_ARGS)
{
	text	   *json = PG_GETARG_TEXT_PP(2);
	Session		session;
	Resource   *resource;
	JNode	   *identity;
	JsonFault	fault;
	pg_uuid_t	id;
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	bool		found;

	ReadBegin(&session);
	resource = ModelCacheFind(text_to_cstring(PG_GETARG_TEXT_PP(0)),
							  text_to_cstring(PG_GETARG_TEXT_PP(1)));
	identity = JsonTreeParse(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), &fault);
	if (identity == NULL)
		ReportError(PROBLEM_ARGUMENT, NULL, "identity is not valid: %s", fault.message);
	if (identity->kind != JNODE_OBJECT)
		ReportError(PROBLEM_ARGUMENT, NULL, "identity must be an object, not %s",
					JsonTreeKindName(identity));
	found = IdentityId(resource->model, identity, &id) && FindUuid(&id, uuid);
	SessionEnd(&session);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(uuid);
}

/* The same for an identity that is jsonb. */
Datum
dms_resolve_jsonb(PG_FUNCTION_ARGS)
{
	return JsonArgumentCall(dms_resolve, fcinfo, 2);
}
