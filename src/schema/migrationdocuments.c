/*
 * migrationdocuments.c
 *		Planning what happens to documents whose resources the new schema does not
 *		have, or has under other names.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "model/resourcetypes.h"
#include "schema/migrationdocuments.h"
#include "schema/migrationloss.h"
#include "utils/builtins.h"

/* Returns a condition on the names of a resource: ($project, $resource). */
static char *
NamesOf(const ModelEntry *entry)
{
	return psprintf("(%s, %s)", quote_literal_cstr(entry->model->project), quote_literal_cstr(entry->model->resource));
}

/* Returns true if a core table has rows of a resource. */
static bool
HasNames(const char *table, const ModelEntry *entry)
{
	return MigrationLossHasRows(table, psprintf("(ProjectName, ResourceName) = %s", NamesOf(entry)));
}

/* Returns a query for the ids of the documents of resources, whose names are a list. */
char *
MigrationDocumentsOf(const char *names)
{
	return psprintf("SELECT DocumentId FROM dms.Document WHERE (ProjectName, ResourceName) IN (%s)", names);
}

/* Returns a statement that deletes documents. */
char *
MigrationDocumentsDelete(const char *condition)
{
	return psprintf("DELETE FROM dms.Document WHERE %s", condition);
}

/*
 * Plan to detach the children of documents that are deleted, and the documents whose
 * account they are: a change of the schema deletes nothing of other resources.
 * The documents are a query.
 */
void
MigrationDocumentsPlanFreed(MigrationPlan *plan, const char *documents)
{
	static const char *const ends[][2] = {{"dms.ParentChild", "ParentDocumentId"}, {"dms.DocumentAccount", "AccountId"}};

	for (Size i = 0; i < lengthof(ends); i++)
		if (MigrationLossHasRows(ends[i][0], "true"))
			MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DELETE_DOCUMENTS,
							 psprintf("DELETE FROM %s WHERE %s IN (%s)", ends[i][0], ends[i][1], documents),
							 "documents are deleted, and others that are related to them are not")->writes = true;
}

/*
 * Plan to delete the documents of resources that the new schema does not have, in one
 * statement, because they may refer to each other.
 */
static void
PlanDeletedDocuments(MigrationPlan *plan)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, plan->diff->resources)
	{
		ResourceDiff *resource = lfirst(cell);

		if (resource->after != NULL || resource->before->model->kind == RESOURCE_ABSTRACT ||
			!HasNames("dms.Document", resource->before))
			continue;
		plan->deleted = lappend(plan->deleted, resource);
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", NamesOf(resource->before));
	}
	if (names.len == 0)
		return;
	MigrationDocumentsPlanFreed(plan, MigrationDocumentsOf(names.data));
	MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_DELETE_DOCUMENTS,
					 MigrationDocumentsDelete(psprintf("(ProjectName, ResourceName) IN (%s)", names.data)),
					 "the new schema has no such resources")->writes = true;
}

/* Plan an UPDATE of what identifies a resource in a core table, if there are rows. */
static void
PlanWrite(MigrationPlan *plan, const ResourceDiff *resource, const char *table, const char *columns,
		  const char *before, const char *after)
{
	if (MigrationLossHasRows(table, psprintf("%s = %s", columns, before)))
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_WRITE_NAMES,
						 psprintf("UPDATE %s SET %s = %s WHERE %s = %s", table, columns, after, columns, before),
						 psprintf("%s was %s", resource->after->place, resource->before->place))->writes = true;
}

/* Plan an UPDATE of the names of a resource in a core table. */
static void
PlanNames(MigrationPlan *plan, const ResourceDiff *resource, const char *table)
{
	PlanWrite(plan, resource, table, "(ProjectName, ResourceName)", NamesOf(resource->before), NamesOf(resource->after));
}

/* Plan an UPDATE of the number of a resource in a table of relations. */
static void
PlanNumbers(MigrationPlan *plan, const ResourceDiff *resource, const char *table, const char *column)
{
	const ResourceModel *before = resource->before->model;
	const ResourceModel *after = resource->after->model;

	PlanWrite(plan, resource, table, column, psprintf("%d", ResourceTypeId(before->project, before->resource)),
			  psprintf("%d", ResourceTypeId(after->project, after->resource)));
}

/* Returns the name of a resource as one word, as SQL. */
static char *
TypeOf(const ModelEntry *entry)
{
	return quote_literal_cstr(ResourceTypeName(entry->model->project, entry->model->resource));
}

/* Returns what identifies the type of a descriptor, as SQL. */
static char *
DiscriminatorOf(const ModelEntry *entry)
{
	return quote_literal_cstr(psprintf("%s:%s", entry->model->project, entry->model->resource));
}

/* Plan the names of a resource that has other names in the new schema. */
static void
PlanResourceNames(MigrationPlan *plan, const ResourceDiff *resource)
{
	if (resource->after->model->kind != RESOURCE_ABSTRACT)
		PlanNames(plan, resource, "dms.Document");
	PlanNames(plan, resource, "dms.ReferentialIdentity");
	PlanNumbers(plan, resource, "dms.ParentChild", "ChildTypeId");
	PlanNumbers(plan, resource, "dms.CollectionMember", "MemberTypeId");
	PlanNumbers(plan, resource, "dms.DocumentAccount", "ResourceTypeId");
	PlanWrite(plan, resource, "dms.UniqueKeyValue", "ResourceType", TypeOf(resource->before), TypeOf(resource->after));
	if (resource->after->model->kind == RESOURCE_DESCRIPTOR)
		PlanWrite(plan, resource, "dms.Descriptor", "Discriminator", DiscriminatorOf(resource->before),
				  DiscriminatorOf(resource->after));
}

/* Returns the root table of a resource as it is there; NULL if it is not. */
static const PlannedTable *
RootOf(const MigrationPlan *plan, const ResourceDiff *resource)
{
	ListCell   *cell;

	foreach(cell, plan->tables)
	{
		const PlannedTable *table = lfirst(cell);

		if (table->resource == resource && table->wanted->number == 0 && table->found != NULL)
			return table;
	}
	return NULL;
}

/* Plan to delete the identities of documents under the name of a superclass that they do not have any more. */
static void
PlanLostAlias(MigrationPlan *plan, const ResourceDiff *resource)
{
	const ResourceModel *before = resource->before->model;
	const PlannedTable *root = RootOf(plan, resource);
	char	   *condition = psprintf("(ProjectName, ResourceName) = (%s, %s) AND DocumentId IN (SELECT documentid FROM",
									 quote_literal_cstr(before->superclass_project),
									 quote_literal_cstr(before->superclass_resource));

	if (root != NULL && MigrationLossHasRows("dms.ReferentialIdentity", psprintf("%s %s)", condition, root->old_name)))
		MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_WRITE_NAMES,
						 psprintf("DELETE FROM dms.ReferentialIdentity WHERE %s %s)", condition, DdlTableName(root->wanted)),
						 psprintf("%s has another superclass", resource->after->place))->writes = true;
}

/* Plan the functions of the triggers on dms.Document, which name the tables of all resources. */
static void
PlanFunctions(MigrationPlan *plan, List *trigger_statements)
{
	static const char *const names[] = {"change_tracking", "document_after_delete", "document_after_truncate"};
	ListCell   *cell;

	foreach(cell, trigger_statements)
	{
		const char *sql = ((DdlStatement *) lfirst(cell))->sql;

		for (Size i = 0; i < lengthof(names); i++)
			if (strstr(sql, psprintf("CREATE OR REPLACE FUNCTION dms.%s()", names[i])) == sql &&
				!CatalogHasFunction(sql, names[i]))
				MigrationStepAdd(&plan->steps, PHASE_GATE, STEP_CREATE_FUNCTION, sql,
								 "the triggers on dms.Document name the tables of all resources");
	}
}

/*
 * Plan what happens to the documents of resources that are removed or renamed.  The
 * statements of the triggers are those of dms_internal.trigger_ddl().
 */
void
MigrationDocumentsPlan(MigrationPlan *plan, List *trigger_statements)
{
	ListCell   *cell;

	PlanDeletedDocuments(plan);
	foreach(cell, plan->diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);

		if (resource->before != NULL && resource->after != NULL && resource->before->model->superclass_resource != NULL &&
			!SchemaDiffSameSuperclass(plan->diff, resource))
			PlanLostAlias(plan, resource);
	}
	foreach(cell, plan->diff->resources)
	{
		if (SchemaDiffIsRenamed(lfirst(cell)))
			PlanResourceNames(plan, lfirst(cell));
	}
	PlanFunctions(plan, trigger_statements);
}
