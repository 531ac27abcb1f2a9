/*
 * readrights.c
 *		Whether the caller may read what is stored outside the tables of a resource.
 *
 * Versions, and keys of deleted documents, are read with the rights of the owner from
 * tables that know nothing of the privileges and policies on the resource.  So these
 * are looked at first.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "verbs/readrights.h"

/* Returns true if the caller may read a table. */
bool
ReadRightsHave(Oid table)
{
	return OidIsValid(table) && pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* Returns true if policies may hide rows of a table from the caller. */
bool
ReadRightsHideRows(Oid table)
{
	return check_enable_rls(table, InvalidOid, true) == RLS_ENABLED;
}

/* Returns a table of the store by its name; InvalidOid if there is none. */
static Oid
TableOf(const char *schema, const char *name)
{
	return get_relname_relid(name, get_namespace_oid(schema, true));
}

/* Returns true if the caller may read the tables that identities are read from. */
static bool
MayReadIdentities(const ResourceModel *model)
{
	for (int i = 0; i < model->nprojections; i++)
		for (int j = 0; j < model->projections[i].njoins; j++)
			if (!ReadRightsHave(TableOf(model->projections[i].joins[j].schema, model->projections[i].joins[j].table)))
				return false;
	return ReadRightsHave(StoreTable(STORE_DESCRIPTOR));
}

/* Returns true if the caller may read all tables that documents of a resource are read from. */
bool
ReadRightsOfTables(const ResourceModel *model)
{
	for (int i = 0; i < model->ntables; i++)
		if (!ReadRightsHave(TableOf(model->tables[i].schema, model->tables[i].name)))
			return false;
	return MayReadIdentities(model);
}

/*
 * Returns true if the caller may read all tables of a resource, and no policy hides
 * rows of them; that of the root is not asked for if the row itself was found.
 */
bool
ReadRightsOfResource(const ResourceModel *model, bool row_found)
{
	if (!ReadRightsOfTables(model))
		return false;
	for (int i = 0; i < model->ntables; i++)
		if ((i > 0 || !row_found) && ReadRightsHideRows(TableOf(model->tables[i].schema, model->tables[i].name)))
			return false;
	return true;
}

/*
 * Returns true if the caller may read the keys of all documents of a resource: all
 * tables that they are read from, without a policy on any of them.
 */
bool
ReadRightsOfKeys(const ResourceModel *model)
{
	const ProjectionModel *own = &model->projections[0];

	for (int i = 0; i < own->njoins; i++)
	{
		Oid			table = TableOf(own->joins[i].schema, own->joins[i].table);

		if (!ReadRightsHave(table) || ReadRightsHideRows(table))
			return false;
	}
	return !ReadRightsHideRows(StoreTable(STORE_DOCUMENT));
}
