/*
 * keyaccess.h
 *		What direct access needs to know about a keyed table.
 */
#ifndef DMS_KEYACCESS_H
#define DMS_KEYACCESS_H

#include "postgres.h"

#include "access/attnum.h"
#include "engine/keyedtable.h"
#include "nodes/parsenodes.h"
#include "utils/relcache.h"

/* A role that has been found to have privileges on a table. */
typedef struct KeyAccessRole
{
	Oid			role;
	AclMode		rights;
} KeyAccessRole;

/* Roles that are remembered per table: the caller and the store's owner, and some more. */
#define KEY_ACCESS_ROLES 4

/* What was found out about a table.  It holds while changes is the current number. */
typedef struct KeyAccess
{
	uint64		changes;		/* 0: nothing is known */
	Oid			relation;
	Oid			index;			/* to scan; InvalidOid if it is not known */
	bool		single;			/* it has at most one row for a key */
	AttrNumber *columns;		/* numbers of the table's columns */
	KeyAccessRole roles[KEY_ACCESS_ROLES];
	int			nroles;
} KeyAccess;

extern void KeyAccessInit(void);
extern uint64 KeyAccessChanges(void);
extern void KeyAccessWatch(Oid relation);
extern bool KeyAccessHolds(const KeyedTable *table);
extern bool KeyAccessAllows(const KeyedTable *table, AclMode rights);
extern void KeyAccessKeep(KeyedTable *table, Relation relation, const AttrNumber *columns, uint64 changes);
extern void KeyAccessKeepRole(KeyedTable *table, AclMode rights);
extern void KeyAccessKeepIndex(KeyedTable *table, Relation index, uint64 changes);

#endif							/* DMS_KEYACCESS_H */
