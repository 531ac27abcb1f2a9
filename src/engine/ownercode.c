/*
 * ownercode.c
 *		Checking the user-defined code that our statements would run with lent
 *		rights.
 *
 * Writes run with the rights of the store's owner, on behalf of callers who have
 * no privileges on the tables.  The code that the owner, or a role with the
 * TRIGGER or REFERENCES privilege, has added to the tables runs with these rights,
 * too: triggers, defaults, check constraints, expressions of indexes, constraints
 * of domains, rules, policies, and the triggers of tables that foreign keys
 * cascade to.  A trigger that is harmless as long as the owner alone writes
 * becomes a hole when any caller can run it as the owner: with a search_path and
 * temporary tables of the caller's choice, or written by a third role, or deferred
 * until the caller's rights are in force again.  So all functions that a statement
 * could run are passed to safefunction.c, which refuses those that are not safe.
 *
 * The check comes before the statement is planned, because the planner evaluates
 * constant expressions, including those of indexes.  It comes after the relations
 * are locked, because otherwise code could be added between the check and the
 * execution.
 *
 * Functions that these functions call in turn are not seen here; restrict.c checks
 * the owner of every function when it is called.
 *
 * The functions that a statement itself calls are found in its query tree; those
 * that belong to a relation, in the relation cache and the catalogs.  Results are
 * kept until a catalog that they depend on changes.  They are marked as valid last,
 * so that an error on the way leaves no incomplete result.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "base/faults.h"
#include "base/report.h"
#include "catalog/indexing.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_range.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "engine/ownercode.h"
#include "engine/restrict.h"
#include "engine/safefunction.h"
#include "engine/store.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "parser/parsetree.h"
#include "rewrite/prs2lock.h"
#include "rewrite/rewriteDefine.h"
#include "rewrite/rowsecurity.h"
#include "storage/lmgr.h"
#include "storage/sinval.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* The ways in which a statement uses a relation; a set of bits. */
typedef enum Use
{
	USE_NAMED = 1 << 0,			/* in the text: must belong to the store's
								 * owner */
	USE_PLANNED = 1 << 1,		/* queries on it are planned */
	USE_INSERT = 1 << 2,
	USE_UPDATE = 1 << 3,
	USE_DELETE = 1 << 4,
	USE_TRUNCATE = 1 << 5,
	USE_LATER = 1 << 6			/* queries on it are planned at the end of the
								 * transaction */
} Use;

#define USES_THAT_WRITE (USE_INSERT | USE_UPDATE | USE_DELETE | USE_TRUNCATE)

/* A relation that a statement uses. */
typedef struct UsedRelation
{
	Oid			relation;
	LOCKMODE	mode;			/* NoLock: no lock is kept */
	int			uses;
	int			followed;		/* uses whose foreign keys were followed */
} UsedRelation;

/* The state of a check. */
typedef struct Look
{
	FunctionPlace place;		/* circumstances of the code that is checked */
	bool		found;			/* user-defined functions were found */
	bool		writes;			/* there are queries that write */
	bool		note;			/* collect the relations of queries */
	UsedRelation *used;
	int			nused;
	int			capacity;
} Look;

/* The result of checking a relation; both members are sets of uses. */
typedef struct Verdict
{
	Oid			relation;
	int			safe;			/* safe uses */
	int			runs;			/* uses that run user-defined functions */
} Verdict;

static HTAB *verdicts = NULL;
static uint64 verdicts_state = 0;	/* that they are valid for; 0: none */
static uint64 changes = 1;
static bool domains_seen = false;	/* constraints of domains were checked */

/* Returns a number that changes whenever a verdict may have become wrong. */
static uint64
CurrentState(void)
{
	return changes + StoreChanges() + SafeFunctionChanges();
}

/* Relation cache callback: verdicts are outdated if one is on this relation. */
static void
RelationChanged(Datum arg pg_attribute_unused(), Oid relid)
{
	if (relid == InvalidOid ||
		(verdicts != NULL && hash_search(verdicts, &relid, HASH_FIND, NULL) != NULL))
		changes++;
}

/*
 * Catalog cache callback for constraints.  A changed constraint of a table also
 * invalidates the table, but one of a domain is reported in no other way.
 */
static void
ConstraintChanged(Datum arg pg_attribute_unused(), int cacheid pg_attribute_unused(),
				  uint32 hashvalue pg_attribute_unused())
{
	if (domains_seen)
		changes++;
}

/* Register callbacks for the catalogs that verdicts depend on. */
void
OwnerCodeInit(void)
{
	CacheRegisterRelcacheCallback(RelationChanged, (Datum) 0);
	CacheRegisterSyscacheCallback(CONSTROID, ConstraintChanged, (Datum) 0);
}

/* Returns true if statements must be checked, because they run with lent rights. */
bool
OwnerCodeApplies(void)
{
	return RestrictRightsAreLent();
}

/* --- expressions and queries ---------------------------------------------- */

static bool CheckNode(Node *node, void *arg);
static void CheckType(Look *look, Oid type);

/* Add a relation to those that are used, or add uses to its entry. */
static void
NoteRelation(Look *look, Oid relation, LOCKMODE mode, int uses)
{
	UsedRelation *used = NULL;

	for (int i = 0; i < look->nused && used == NULL; i++)
		if (look->used[i].relation == relation)
			used = &look->used[i];
	if (used == NULL)
	{
		if (look->nused == look->capacity)
		{
			look->capacity = Max(8, 2 * look->capacity);
			look->used = look->used == NULL ? palloc(sizeof(UsedRelation) * look->capacity) :
				repalloc(look->used, sizeof(UsedRelation) * look->capacity);
		}
		used = &look->used[look->nused++];
		memset(used, 0, sizeof(UsedRelation));
		used->relation = relation;
	}
	used->mode = Max(used->mode, mode);
	used->uses |= uses;
}

/* Returns the uses of the relation that a query writes to. */
static int
UsesOfTarget(const Query *query)
{
	switch (query->commandType)
	{
		case CMD_INSERT:
			return query->onConflict ? USE_INSERT | USE_UPDATE : USE_INSERT;
		case CMD_UPDATE:
			return USE_UPDATE;
		case CMD_DELETE:
			return USE_DELETE;
		default:
			return USES_THAT_WRITE;
	}
}

/* Collect the relations of a query, except catalogs, which rules may read. */
static void
NoteQuery(Look *look, const Query *query)
{
	int			i = 0;
	ListCell   *cell;

	foreach(cell, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(cell);
		bool		target = ++i == query->resultRelation;

		if (entry->rtekind == RTE_RELATION && entry->relid >= FirstNormalObjectId)
			NoteRelation(look, entry->relid, entry->rellockmode,
						 USE_NAMED | USE_PLANNED | (target ? UsesOfTarget(query) : 0));
		look->writes |= target;
	}
}

/* Check the functions that a query calls, and collect its relations. */
static bool
CheckQuery(Look *look, Query *query)
{
	Oid			outer = look->place.table;

	if (query->resultRelation > 0)
		look->place.table = rt_fetch(query->resultRelation, query->rtable)->relid;
	if (look->note)
		NoteQuery(look, query);
	(void) query_tree_walker(query, CheckNode, look, 0);
	look->place.table = outer;
	return false;
}

/* Check an expression in its stored form, which may be NULL. */
static void
CheckStored(Look *look, const char *expression)
{
	if (expression != NULL)
		(void) CheckNode(stringToNode(expression), look);
}

/* Check an expression that is stored in a column of a catalog. */
static void
CheckColumn(Look *look, int cache, HeapTuple tuple, AttrNumber column)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(cache, tuple, column, &isnull);

	if (!isnull)
		CheckStored(look, TextDatumGetCString(value));
}

/* Returns the base type of a domain, or InvalidOid if the type is not a domain. */
static Oid
DomainOver(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	Oid			over;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	form = (Form_pg_type) GETSTRUCT(tuple);
	over = form->typtype == TYPTYPE_DOMAIN ? form->typbasetype : InvalidOid;
	ReleaseSysCache(tuple);
	return over;
}

/* Check a function; returns false, so that a tree walk continues. */
static bool
CheckFunction(Oid function, void *arg)
{
	Look	   *look = arg;

	look->found |= SafeFunctionCheck(function, &look->place);
	return false;
}

/* Check the constraints of a domain. */
static void
CheckDomainConstraints(Look *look, Oid type)
{
	Relation	constraints = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	domains_seen = true;
	ScanKeyInit(&key, Anum_pg_constraint_contypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan(constraints, ConstraintTypidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		CheckColumn(look, CONSTROID, tuple, Anum_pg_constraint_conbin);
	systable_endscan(scan);
	table_close(constraints, AccessShareLock);
}

/* Check the functions of a range type; returns its subtype. */
static Oid
CheckRange(Look *look, Oid type)
{
	HeapTuple	tuple = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(type));
	Form_pg_range form;
	Oid			subtype;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for range type %u", type);
	form = (Form_pg_range) GETSTRUCT(tuple);
	(void) CheckFunction(form->rngcanonical, look);
	(void) CheckFunction(form->rngsubdiff, look);
	subtype = form->rngsubtype;
	ReleaseSysCache(tuple);
	return subtype;
}

/* Returns the verdict on a relation; a new one is empty. */
static Verdict *
FindVerdict(Oid relation)
{
	bool		found;
	Verdict    *verdict = hash_search(verdicts, &relation, HASH_ENTER, &found);

	if (!found)
		verdict->safe = verdict->runs = 0;
	return verdict;
}

/*
 * Check the types of the columns of a composite type.  It has a relation, whose
 * entry among the verdicts makes RelationChanged() notice changes of the type.
 */
static void
CheckComposite(Look *look, Oid type)
{
	TupleDesc	descriptor;

	(void) FindVerdict(get_typ_typrelid(type));
	descriptor = lookup_rowtype_tupdesc_copy(type, -1);
	for (int i = 0; i < descriptor->natts; i++)
		if (!TupleDescAttr(descriptor, i)->attisdropped)
			CheckType(look, TupleDescAttr(descriptor, i)->atttypid);
}

/*
 * Check the functions that run when a value of a type is made, compared or
 * indexed, and those of the types that it consists of.  A domain hidden in a row
 * or array type would be a way to run its check unnoticed.  Built-in types run no
 * user-defined functions, and only superusers can create base types.
 */
static void
CheckType(Look *look, Oid type)
{
	check_stack_depth();
	while (type >= FirstNormalObjectId)
	{
		Oid			element = get_element_type(type);

		if (OidIsValid(element))
			type = element;
		else
			switch (get_typtype(type))
			{
				case TYPTYPE_DOMAIN:
					CheckDomainConstraints(look, type);
					type = DomainOver(type);
					break;
				case TYPTYPE_MULTIRANGE:
					type = get_multirange_range(type);
					break;
				case TYPTYPE_RANGE:
					type = CheckRange(look, type);
					break;
				case TYPTYPE_COMPOSITE:
					CheckComposite(look, type);
					return;
				default:
					return;
			}
	}
}

/* Tree walker: check all functions in a query or an expression. */
static bool
CheckNode(Node *node, void *arg)
{
	Look	   *look = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return CheckQuery(look, (Query *) node);
	if (IsA(node, CoerceToDomain))
		CheckType(look, ((CoerceToDomain *) node)->resulttype);
	if (IsA(node, CoerceViaIO))
		CheckType(look, ((CoerceViaIO *) node)->resulttype);
	(void) check_functions_in_node(node, CheckFunction, look);
	return expression_tree_walker(node, CheckNode, look);
}

/* --- relations ------------------------------------------------------------ */

/*
 * Check the functions and operators of an operator class.  Only superusers can
 * create one, but its functions may belong to other roles.
 */
static void
CheckOperatorClass(Look *look, Oid opclass)
{
	HeapTuple	tuple;
	Oid			family;
	CatCList   *functions;
	CatCList   *operators;

	if (opclass < FirstNormalObjectId)
		return;
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	family = ((Form_pg_opclass) GETSTRUCT(tuple))->opcfamily;
	ReleaseSysCache(tuple);
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
	for (int i = 0; i < functions->n_members; i++)
		(void) CheckFunction(((Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple))->amproc, look);
	ReleaseSysCacheList(functions);
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	for (int i = 0; i < operators->n_members; i++)
		(void) CheckFunction(get_opcode(((Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple))->amopopr), look);
	ReleaseSysCacheList(operators);
}

/* Check the functions that an index calls; a deferrable one may call them later. */
static void
CheckIndex(Look *look, Oid index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	bool		deferrable = look->place.deferrable;
	bool		isnull;
	Datum		classes;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	look->place.deferrable |= !((Form_pg_index) GETSTRUCT(tuple))->indimmediate;
	CheckColumn(look, INDEXRELID, tuple, Anum_pg_index_indexprs);
	CheckColumn(look, INDEXRELID, tuple, Anum_pg_index_indpred);
	classes = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indclass, &isnull);
	for (int i = 0; i < ((Form_pg_index) GETSTRUCT(tuple))->indnkeyatts; i++)
		CheckOperatorClass(look, ((oidvector *) DatumGetPointer(classes))->values[i]);
	look->place.deferrable = deferrable;
	ReleaseSysCache(tuple);
}

/*
 * Check the functions that planning a statement on a relation may call: those in
 * constant parts of the expressions of its indexes, statistics and constraints.
 * The expressions are read from the catalogs, because RelationGetIndexExpressions()
 * evaluates their constant parts, which is what the check must precede.
 */
static void
CheckPlanned(Look *look, Relation relation)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;
	List	   *indexes = RelationGetIndexList(relation);
	List	   *statistics = RelationGetStatExtList(relation);
	ListCell   *cell;

	foreach(cell, indexes)
	{
		CheckIndex(look, lfirst_oid(cell));
	}
	foreach(cell, statistics)
	{
		HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for statistics object %u", lfirst_oid(cell));
		CheckColumn(look, STATEXTOID, tuple, Anum_pg_statistic_ext_stxexprs);
		ReleaseSysCache(tuple);
	}
	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
		CheckStored(look, constraints->check[i].ccbin);
}

/* Returns true if a trigger may fire when its relation is used in this way. */
static bool
Fires(const Trigger *trigger, Use use)
{
	if (trigger->tgenabled == TRIGGER_DISABLED)
		return false;
	return (use == USE_INSERT && TRIGGER_FOR_INSERT(trigger->tgtype)) ||
		(use == USE_UPDATE && TRIGGER_FOR_UPDATE(trigger->tgtype)) ||
		(use == USE_DELETE && TRIGGER_FOR_DELETE(trigger->tgtype)) ||
		(use == USE_TRUNCATE && TRIGGER_FOR_TRUNCATE(trigger->tgtype));
}

/* Check the functions that compute or check the columns of new rows. */
static void
CheckColumns(Look *look, TupleDesc descriptor)
{
	const TupleConstr *constraints = descriptor->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_defval; i++)
		CheckStored(look, constraints->defval[i].adbin);
	for (int i = 0; i < descriptor->natts; i++)
		if (!TupleDescAttr(descriptor, i)->attisdropped)
			CheckType(look, TupleDescAttr(descriptor, i)->atttypid);
}

/*
 * Refuse a table that a foreign key cascades to if it has rules for the cascaded
 * command: they could lead to any other table.  Rules of tables that a statement
 * names need no such treatment, because the rewritten queries are checked.
 */
static void
RefuseRules(Relation relation, Use use)
{
	static const Use uses[] = {[CMD_UPDATE] = USE_UPDATE,[CMD_INSERT] = USE_INSERT,[CMD_DELETE] = USE_DELETE};
	const RuleLock *rules = relation->rd_rules;

	for (int i = 0; rules != NULL && i < rules->numLocks; i++)
		if (rules->rules[i]->event != CMD_SELECT && rules->rules[i]->enabled != RULE_DISABLED &&
			uses[rules->rules[i]->event] == use)
			ReportError(PROBLEM_STORE_UNSAFE, "Use a trigger instead.",
						"table \"%s.%s\" has rules, and a foreign key cascades to it",
						get_namespace_name(RelationGetNamespace(relation)), RelationGetRelationName(relation));
}

/*
 * Check the functions that writing to a relation may call.  The triggers are
 * copied, because reading a catalog may rebuild the relation's cache entry.
 */
static void
CheckWritten(Look *look, Relation relation, Use use)
{
	const TriggerDesc *triggers = CopyTriggerDesc(relation->trigdesc);
	List	   *policies = relation->rd_rsdesc ? relation->rd_rsdesc->policies : NIL;
	ListCell   *cell;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		if (Fires(&triggers->triggers[i], use))
		{
			CheckStored(look, triggers->triggers[i].tgqual);
			look->place.deferrable = triggers->triggers[i].tgdeferrable;
			(void) CheckFunction(triggers->triggers[i].tgfoid, look);
			look->place.deferrable = false;
		}
	if (use == USE_INSERT || use == USE_UPDATE)
		CheckColumns(look, RelationGetDescr(relation));
	foreach(cell, policies)
	{
		const RowSecurityPolicy *policy = lfirst(cell);

		(void) CheckNode((Node *) policy->qual, look);
		(void) CheckNode((Node *) policy->with_check_qual, look);
	}
}

/*
 * Follow a foreign key's trigger to the other table.  If the key cascades, that
 * table is written to; otherwise a query on it is planned.  Our statements never
 * update primary keys, so no query looks for references to the old value.
 */
static void
FollowKey(Look *look, const Trigger *trigger, int uses, Oid primary_key)
{
	LOCKMODE	mode = NoLock;
	int			follows = 0;

	switch (trigger->tgfoid)
	{
		case F_RI_FKEY_CHECK_INS:
		case F_RI_FKEY_CHECK_UPD:
			follows = (uses & (USE_INSERT | USE_UPDATE)) != 0 ? USE_PLANNED : 0;
			break;
		case F_RI_FKEY_NOACTION_UPD:
		case F_RI_FKEY_RESTRICT_UPD:
			follows = (uses & USE_UPDATE) != 0 && trigger->tgconstrindid != primary_key ? USE_PLANNED : 0;
			break;
		case F_RI_FKEY_NOACTION_DEL:
		case F_RI_FKEY_RESTRICT_DEL:
			follows = (uses & USE_DELETE) != 0 ? USE_PLANNED : 0;
			break;
		case F_RI_FKEY_CASCADE_DEL:
			mode = RowExclusiveLock;
			follows = (uses & USE_DELETE) != 0 ? USE_PLANNED | USE_DELETE : 0;
			break;
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETDEFAULT_DEL:
			mode = RowExclusiveLock;
			follows = (uses & USE_DELETE) != 0 ? USE_PLANNED | USE_UPDATE : 0;
			break;
		case F_RI_FKEY_CASCADE_UPD:
		case F_RI_FKEY_SETNULL_UPD:
		case F_RI_FKEY_SETDEFAULT_UPD:
			mode = RowExclusiveLock;
			follows = (uses & USE_UPDATE) != 0 ? USE_PLANNED | USE_UPDATE : 0;
			break;
		default:
			break;
	}
	if (follows != 0)
		NoteRelation(look, trigger->tgconstrrelid, mode,
					 follows | (trigger->tgdeferrable ? USE_LATER : 0));
}

/*
 * Lock a relation, and collect the relations that writing to it leads to.  A table
 * that a foreign key cascades to may be partitioned.
 */
static void
FollowRelation(Look *look, int which)
{
	UsedRelation used = look->used[which];
	Relation	relation;

	if (used.mode != NoLock)
		LockRelationOid(used.relation, used.mode);
	look->used[which].followed = used.uses;
	if ((used.uses & USES_THAT_WRITE) == 0)
		return;
	relation = relation_open(used.relation, NoLock);
	list_free(RelationGetIndexList(relation));	/* sets rd_pkindex */
	for (int i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
		FollowKey(look, &relation->trigdesc->triggers[i], used.uses, relation->rd_pkindex);
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE && (used.uses & USE_NAMED) == 0)
	{
		List	   *partitions = find_inheritance_children(used.relation, used.mode);
		ListCell   *cell;

		foreach(cell, partitions)
		{
			NoteRelation(look, lfirst_oid(cell), used.mode, used.uses);
		}
	}
	relation_close(relation, NoLock);
}

/* Lock all relations that are used, and those that writing to them leads to. */
static void
FollowRelations(Look *look)
{
	bool		again = true;

	while (again)
	{
		again = false;
		for (int i = 0; i < look->nused; i++)
			if (look->used[i].followed != look->used[i].uses)
			{
				FollowRelation(look, i);
				again = true;
			}
	}
}

/* Check one use of a relation; returns true if user-defined functions run. */
static bool
CheckUse(Relation relation, Use use, int uses)
{
	Look		look = {.place = {.table = RelationGetRelid(relation),.runs_as = relation->rd_rel->relowner}};
	bool		is_view = relation->rd_rel->relkind == RELKIND_VIEW && (uses & USES_THAT_WRITE) == 0;

	if (use == USE_NAMED)
	{
		StoreCheckRelation(look.place.table, is_view ? RELKIND_VIEW : RELKIND_RELATION, StoreOwner());
		StoreCheckSchema(RelationGetNamespace(relation), StoreOwner());
	}
	else if (use == USE_PLANNED || use == USE_LATER)
	{
		look.place.deferrable = use == USE_LATER;
		CheckPlanned(&look, relation);
	}
	else
	{
		if ((uses & USE_NAMED) == 0)
			RefuseRules(relation, use);
		CheckWritten(&look, relation, use);
	}
	return look.found;
}

/*
 * Check the uses of a relation that have no verdict yet.  Code of a relation is
 * checked as that of its owner, since foreign keys write to a table as its owner.
 */
static void
CheckRelation(Look *look, const UsedRelation *used)
{
	Verdict    *verdict = FindVerdict(used->relation);
	LOCKMODE	mode = used->mode == NoLock ? AccessShareLock : NoLock;
	Relation	relation;

	if ((used->uses & ~verdict->safe) != 0)
	{
		relation = relation_open(used->relation, mode);
		for (int use = USE_NAMED; use <= USE_LATER; use <<= 1)
			if ((used->uses & ~verdict->safe & use) != 0 &&
				CheckUse(relation, use, used->uses))
				verdict->runs |= use;
		relation_close(relation, mode);
		verdict->safe |= used->uses;
	}
	look->found |= (verdict->runs & used->uses) != 0;
}

/* --- keeping results ------------------------------------------------------ */

/* Start checking relations; verdicts of another state are discarded. */
static void
BeginVerdicts(uint64 state)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(Verdict)};

	if (verdicts == NULL || verdicts_state != state)
	{
		HTAB	   *old = verdicts;

		verdicts = NULL;
		if (old != NULL)
			hash_destroy(old);
		verdicts = hash_create("dms verdicts on relations", 64, &control, HASH_ELEM | HASH_BLOBS);
	}
	verdicts_state = 0;
}

/* Mark the verdicts as valid if nothing has changed since BeginVerdicts(). */
static void
EndVerdicts(uint64 state)
{
	if (CurrentState() == state)
		verdicts_state = state;
}

/* Keep the result of checking a statement. */
static void
Remember(OwnerCode *code, const Look *look, uint64 state)
{
	OwnerLock  *locks = MemoryContextAlloc(TopMemoryContext, sizeof(OwnerLock) * Max(look->nused, 1));

	OwnerCodeForget(code);
	code->locks = locks;
	for (int i = 0; i < look->nused; i++)
		if (look->used[i].mode != NoLock)
		{
			locks[code->nlocks].relation = look->used[i].relation;
			locks[code->nlocks++].mode = look->used[i].mode;
		}
	code->runs = look->writes && look->found;
	code->checked = state;
}

/* Check a statement and all relations that it leads to, and keep the result. */
static void
CheckAnew(OwnerCode *code, OwnerQueries queries, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dms owner's code",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext saved = MemoryContextSwitchTo(context);
	uint64		state = CurrentState();
	Look		look = {.place = {.runs_as = StoreOwner()},.note = true};

	BeginVerdicts(state);
	(void) CheckNode((Node *) queries(arg), &look);
	FollowRelations(&look);
	for (int i = 0; i < look.nused; i++)
		CheckRelation(&look, &look.used[i]);
	EndVerdicts(state);
	Remember(code, &look, state);
	MemoryContextSwitchTo(saved);
	MemoryContextDelete(context);
}

/*
 * Raise an error if the current user does not own the store any more: ownership
 * may have changed while we waited for a lock.  The former owner's rights must not
 * be used on tables that another role controls now.
 */
static void
RequireOwner(void)
{
	if (GetUserId() != StoreOwner())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the owner of the store changed during the call"),
				 errhint("Try again.")));
}

/*
 * Refuse a statement that would run code which is not safe with lent rights.
 * Relations are locked in the modes of the statement, so that no code can be added
 * to them before it runs.  Locking may receive invalidations, and so may the check
 * itself; hence the loop.
 */
void
OwnerCodeCheck(OwnerCode *code, OwnerQueries queries, void *arg)
{
	uint64		received;

	for (int i = 0; i < code->nlocks && !FAULT_SKIP("code_locks"); i++)
		LockRelationOid(code->locks[i].relation, code->locks[i].mode);
	do
	{
		received = SharedInvalidMessageCounter;
		RequireOwner();
		if (code->checked != CurrentState())
			CheckAnew(code, queries, arg);
	} while (SharedInvalidMessageCounter != received);
}

/* Check some uses of a table that is locked. */
static void
CheckTable(Oid table, int uses)
{
	UsedRelation used = {.relation = table,.mode = AccessShareLock,.uses = uses};
	uint64		received;

	do
	{
		uint64		state = CurrentState();
		Verdict    *verdict = verdicts_state == state ? hash_search(verdicts, &table, HASH_FIND, NULL) : NULL;
		Look		look = {0};

		received = SharedInvalidMessageCounter;
		RequireOwner();
		if (verdict != NULL && (verdict->safe & used.uses) == used.uses)
			return;
		BeginVerdicts(state);
		CheckRelation(&look, &used);
		EndVerdicts(state);
	} while (SharedInvalidMessageCounter != received);
}

/*
 * Like OwnerCodeCheck(), for a table that is locked and is to be read or written
 * without a statement.  Opening its indexes may evaluate their expressions.
 */
void
OwnerCodeCheckTable(Oid table)
{
	CheckTable(table, USE_NAMED | USE_PLANNED);
}

/*
 * The same for a locked table that DDL changes: it can evaluate whatever a write would,
 * for example constraints on a column whose type changes.
 */
void
OwnerCodeCheckChange(Oid table)
{
	CheckTable(table, USE_NAMED | USE_PLANNED | USE_INSERT | USE_UPDATE);
}

/* The same for a locked table that is truncated. */
void
OwnerCodeCheckTruncate(Oid table)
{
	CheckTable(table, USE_NAMED | USE_TRUNCATE);
}

/* The same for a locked table that queries of foreign keys search. */
void
OwnerCodeCheckTarget(Oid table)
{
	CheckTable(table, USE_PLANNED);
}

/* Release the result of checking a statement. */
void
OwnerCodeForget(OwnerCode *code)
{
	if (code->locks != NULL)
		pfree(code->locks);
	memset(code, 0, sizeof(OwnerCode));
}
