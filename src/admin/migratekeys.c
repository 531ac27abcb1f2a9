/*
 * migratekeys.c
 *		Unique keys and names in URNs, when the schema changes.
 *
 * The view dms.DeclaredKeyValue reads columns of resources, which a change of the
 * schema must be able to change.  So it is emptied before, and made anew after.
 */
#include "postgres.h"

#include "admin/migratekeys.h"
#include "engine/snapshot.h"
#include "engine/statement.h"
#include "graph/uniquekeys.h"
#include "model/resourceoptions.h"
#include "model/resourcetypes.h"
#include "model/uniqueoptions.h"
#include "schema/declaredkeys.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/*
 * Drop the constraints of unique keys that have other names in the new schema, and let
 * dms.DeclaredKeyValue depend on no table.  Returns true if there are unique keys.
 */
bool
MigrateKeysRelease(const SchemaDiff *diff)
{
	bool		any = false;
	ListCell   *cell;
	ListCell   *path;

	foreach(cell, diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);
		const ResourceModel *before = resource->before == NULL ? NULL : resource->before->model;
		const ResourceModel *after = resource->after == NULL ? NULL : resource->after->model;
		Jsonb	   *options = NULL;
		bool		renamed = false;

		if (before == NULL || after == NULL)
			continue;
		SnapshotBeginLatest();
		options = ResourceTypeOptions(ResourceTypeId(before->project, before->resource), NULL);
		SnapshotEnd();
		foreach(path, options == NULL ? NIL : UniqueOptionsPaths(options))
		{
			if (!any)
				StatementExecute(DeclaredKeysNoView());
			any = true;
			renamed |= strcmp(DeclaredKeyConstraint(before, UniqueOptionsColumn(before, lfirst(path))),
							  DeclaredKeyConstraint(after, UniqueOptionsColumn(after, lfirst(path)))) != 0;
		}
		if (!renamed)
			continue;
		foreach(path, DeclaredKeysSurplus(before, options, NULL))
			StatementExecute(lfirst(path));
	}
	return any;
}

/* Create the constraints of unique keys that are missing in the new schema, and their view. */
void
MigrateKeysRestore(const SchemaDiff *diff)
{
	ListCell   *cell;
	ListCell   *statement;

	foreach(cell, diff->resources)
	{
		const ResourceDiff *resource = lfirst(cell);
		const ResourceModel *after = resource->after == NULL ? NULL : resource->after->model;
		Jsonb	   *options;

		if (resource->before == NULL || after == NULL)
			continue;
		SnapshotBeginLatest();
		options = ResourceTypeOptions(ResourceTypeId(after->project, after->resource), NULL);
		SnapshotEnd();
		foreach(statement, options == NULL ? NIL : DeclaredKeysMissing(after, options))
			StatementExecute(lfirst(statement));
	}
	StatementExecute(DeclaredKeysView(NULL, NULL));
}

/*
 * Give a resource that has other names its name in URNs, unless an option says it,
 * which is the same then.  Values that were claimed for its documents follow.
 */
void
MigrateKeysRename(const ResourceDiff *resource)
{
	const ResourceModel *before = resource->before->model;
	const ResourceModel *after = resource->after->model;
	int32		old = ResourceTypeId(before->project, before->resource);
	int32		new = ResourceTypeId(after->project, after->resource);
	char	   *was = NULL;
	char	   *name;
	Jsonb	   *options;

	SnapshotBegin();
	options = ResourceTypeOptions(old, &was);
	SnapshotEnd();
	if (options == NULL)
		return;
	name = ResourceOptionsType(options);
	ResourceTypeRename(old, ResourceTypeName(before->project, before->resource));
	ResourceTypeSetOptions(old, DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"))));
	if (name != NULL)
		ResourceTypeRename(new, name);
	else
		name = ResourceTypeName(after->project, after->resource);
	UniqueKeysRename(was, name);
}
