/*
 * writefacts.c
 *		Finding out whether and how rows of a table can be written without
 *		statements, and keeping that for the session.
 *
 * A table is written without statements if a statement would do nothing but write
 * rows and index entries, and check foreign keys, deferrable unique keys, and
 * conditions that depend on nothing but the row.  All else that an owner may have
 * added (triggers, rules, other checks, generated columns, other kinds of indexes)
 * needs an executor.  One function decides about each kind of thing, and what it
 * does not know is left to statements.
 *
 * The facts follow from the catalog entries of the table, its indexes, and the
 * tables that its foreign keys point at.  They are kept until one of these
 * changes (keyaccess.c notices that).  Changes that matter need a lock that
 * conflicts with that of a writer, and messages about them are processed when a lock
 * is taken.  So facts that are asked for after locking the table hold until the lock
 * is released.  There are two exceptions.  The index that a foreign key points at may
 * be replaced until the other table is locked.  And an index that is built concurrently
 * may become ready: PostgreSQL does not expect entries from transactions that have not
 * seen that yet, but a later look may find a table that needs statements now.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "base/compat.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "engine/keyaccess.h"
#include "engine/writefacts.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* A table, and the facts about it. */
typedef struct KnownTable
{
	Oid			table;
	uint64		changes;		/* the facts hold while this is the current
								 * number; 0: there are none */
	WriteFacts *facts;
	MemoryContext context;		/* of the facts */
} KnownTable;

static HTAB *known = NULL;

/* Returns the entry of a table; a new one is empty. */
static KnownTable *
Know(Oid table)
{
	HASHCTL		control = {.keysize = sizeof(Oid),.entrysize = sizeof(KnownTable),.hcxt = TopMemoryContext};
	bool		found;
	KnownTable *entry;

	if (known == NULL)
		known = hash_create("dms tables to write", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	entry = hash_search(known, &table, HASH_ENTER, &found);
	if (!found)
		memset((char *) entry + sizeof(Oid), 0, sizeof(KnownTable) - sizeof(Oid));
	return entry;
}

/* --- indexes -------------------------------------------------------------- */

/*
 * Returns true if an index has entries for all rows, or for those where one column
 * is NULL or where it is not, which is described.  The predicate is read from the
 * catalog, because the relation cache evaluates its constant parts.
 */
static bool
ReadFilter(Relation index, WriteIndex *described)
{
	bool		isnull;
	Datum		stored = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, Anum_pg_index_indpred, &isnull);
	NullTest   *test;

	described->filter = 0;
	if (isnull)
		return true;
	test = stringToNode(TextDatumGetCString(stored));
	if (!IsA(test, NullTest) || test->argisrow || !IsA(test->arg, Var))
		return false;
	described->filter = ((Var *) test->arg)->varattno;
	described->filter_null = test->nulltesttype == IS_NULL;
	return described->filter > 0;
}

/* Returns true if the operator classes of an index belong to PostgreSQL. */
static bool
HasKnownOrder(Relation index)
{
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		if (index->rd_opfamily[i] >= FirstNormalObjectId)
			return false;
	return true;
}

/*
 * Describe an index; returns false if it needs an executor.  For such an index no
 * IndexInfo is built, because that would evaluate its expressions.
 */
static bool
DescribeIndex(Relation index, WriteIndex *described)
{
	Form_pg_index form = index->rd_index;

	for (int i = 0; i < form->indnatts; i++)
		if (form->indkey.values[i] <= 0)
			return false;
	described->index = RelationGetRelid(index);
	described->btree = index->rd_rel->relam == BTREE_AM_OID;
	described->arbiter = form->indisvalid && form->indimmediate;
	if ((!described->btree && index->rd_rel->relam != HASH_AM_OID) || form->indisexclusion ||
		!HasKnownOrder(index) || !ReadFilter(index, described))
		return false;
	described->info = BuildIndexInfo(index);
	return true;
}

/*
 * Describe all indexes; returns false if one of them needs an executor.  An index that
 * is not ready is being built beside us, and gets no entries.
 */
static bool
DescribeIndexes(Relation relation, WriteFacts *facts)
{
	List	   *ids = RelationGetIndexList(relation);
	bool		plain = true;
	ListCell   *cell;

	facts->indexes = palloc0(sizeof(WriteIndex) * Max(list_length(ids), 1));
	foreach(cell, ids)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		KeyAccessWatch(lfirst_oid(cell));
		if (index->rd_index->indisready)
		{
			plain = plain && DescribeIndex(index, &facts->indexes[facts->nindexes++]);
			facts->deferrable |= !index->rd_index->indimmediate;
		}
		index_close(index, AccessShareLock);
	}
	return plain;
}

/* --- foreign keys --------------------------------------------------------- */

/* Returns the function that compares key columns of a type; 0 if it is not known. */
static RegProcedure
KeyEquals(Oid type, Oid operator)
{
	RegProcedure function = get_opcode(operator);

	if ((type == INT8OID && function == F_INT8EQ) || (type == INT4OID && function == F_INT4EQ))
		return function;
	return InvalidOid;
}

/* Returns the type of a column. */
static Oid
ColumnType(Relation relation, AttrNumber column)
{
	return TupleDescAttr(RelationGetDescr(relation), column - 1)->atttypid;
}

/*
 * Describe the columns of a foreign key, in the order of the target's index.
 * Returns false if a scan of the index would not find what a query finds.
 */
static bool
DescribeKeyColumns(Relation relation, Relation target, Relation index, HeapTuple tuple, ForeignKey *key)
{
	Form_pg_index form = index->rd_index;
	AttrNumber	from[INDEX_MAX_KEYS];
	AttrNumber	to[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];

	DeconstructFkConstraintRow(tuple, &key->ncolumns, from, to, operators, NULL, NULL, NULL, NULL);
	if (key->ncolumns > FOREIGN_KEY_COLUMNS || form->indnkeyatts != key->ncolumns)
		return false;
	for (int i = 0; i < key->ncolumns; i++)
	{
		int			j = 0;

		while (j < key->ncolumns && to[j] != form->indkey.values[i])
			j++;
		if (j == key->ncolumns || ColumnType(relation, from[j]) != ColumnType(target, to[j]) ||
			index->rd_opcintype[i] != ColumnType(target, to[j]))
			return false;
		key->columns[i] = from[j];
		key->equals[i] = KeyEquals(ColumnType(target, to[j]), operators[j]);
		if (!RegProcedureIsValid(key->equals[i]))
			return false;
	}
	return true;
}

/* Returns true if an index of a foreign key's target can be scanned directly. */
static bool
IsPlainTarget(Relation target, Relation index)
{
	Form_pg_index form = index->rd_index;

	return target->rd_rel->relkind == RELKIND_RELATION && RelationIsPermanent(target) &&
		target->rd_rel->relam == HEAP_TABLE_AM_OID &&
		index->rd_rel->relam == BTREE_AM_OID && form->indisvalid && form->indisunique &&
		form->indimmediate && !form->indcheckxmin && HasKnownOrder(index) &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* Describe the foreign key of a trigger; returns false if only the trigger can check it. */
static bool
DescribeKey(Relation relation, const Trigger *trigger, int number, ForeignKey *key)
{
	Relation	target = table_open(trigger->tgconstrrelid, RowShareLock);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(trigger->tgconstraint));
	Form_pg_constraint form;
	Relation	index;
	bool		plain;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for constraint %u", trigger->tgconstraint);
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	key->trigger = number;
	key->target = RelationGetRelid(target);
	key->index = form->conindid;
	index = index_open(key->index, AccessShareLock);
	KeyAccessWatch(key->target);
	KeyAccessWatch(key->index);
	plain = form->contype == CONSTRAINT_FOREIGN && form->conrelid == RelationGetRelid(relation) &&
		form->confrelid == key->target &&
		form->confmatchtype == FKCONSTR_MATCH_SIMPLE && !form->condeferrable &&
		IsPlainTarget(target, index) && DescribeKeyColumns(relation, target, index, tuple, key);
	index_close(index, AccessShareLock);
	table_close(target, NoLock);
	ReleaseSysCache(tuple);
	return plain;
}

/* --- triggers ------------------------------------------------------------- */

/* Returns true if a trigger belongs to a constraint, and fires at the end of a statement. */
static bool
IsOfConstraint(const Trigger *trigger)
{
	return trigger->tgisinternal && OidIsValid(trigger->tgconstraint) && trigger->tgqual == NULL &&
		trigger->tgenabled == TRIGGER_FIRES_ON_ORIGIN &&
		TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_AFTER(trigger->tgtype);
}

/* Note a trigger that fires for insertions. */
static void
NoteInsertTrigger(Relation relation, const Trigger *trigger, int number, WriteFacts *facts)
{
	if (!IsOfConstraint(trigger))
		facts->inserts = false;
	else if (trigger->tgfoid == F_RI_FKEY_CHECK_INS)
		facts->inserts = facts->inserts &&
			DescribeKey(relation, trigger, number, &facts->insert_keys[facts->ninsert_keys++]);
	else if (trigger->tgfoid != F_UNIQUE_KEY_RECHECK)
		facts->inserts = false;
}

/*
 * Returns true if a trigger fires only for updates that set certain columns, which are
 * added to those that are watched.
 */
static bool
IsOfColumns(const Trigger *trigger, WriteFacts *facts)
{
	for (int i = 0; i < trigger->tgnattr; i++)
		facts->watched = bms_add_member(facts->watched, trigger->tgattr[i]);
	return trigger->tgnattr > 0;
}

/* Note a trigger that fires for updates. */
static void
NoteUpdateTrigger(Relation relation, const Trigger *trigger, int number, WriteFacts *facts)
{
	if (!IsOfConstraint(trigger))
		facts->updates = facts->updates && IsOfColumns(trigger, facts);
	else if (trigger->tgfoid == F_RI_FKEY_CHECK_UPD)
		facts->updates = facts->updates &&
			DescribeKey(relation, trigger, number, &facts->update_keys[facts->nupdate_keys++]);
	else if (RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_PK)
		facts->referenced[facts->nreferenced++] = number;
	else if (trigger->tgfoid != F_UNIQUE_KEY_RECHECK)
		facts->updates = false;
}

/* Note what the triggers of a table mean for each operation. */
static void
DescribeTriggers(Relation relation, WriteFacts *facts)
{
	TriggerDesc *triggers = CopyTriggerDesc(relation->trigdesc);

	if (triggers == NULL)
		return;
	facts->insert_keys = palloc0(sizeof(ForeignKey) * triggers->numtriggers);
	facts->update_keys = palloc0(sizeof(ForeignKey) * triggers->numtriggers);
	facts->referenced = palloc0(sizeof(int) * triggers->numtriggers);
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_INSERT(trigger->tgtype))
			NoteInsertTrigger(relation, trigger, i, facts);
		if (TRIGGER_FOR_UPDATE(trigger->tgtype))
			NoteUpdateTrigger(relation, trigger, i, facts);
		if (TRIGGER_FOR_DELETE(trigger->tgtype))
			facts->deletes = false;
	}
	FreeTriggerDesc(triggers);
}

/* --- defaults ------------------------------------------------------------- */

/* Returns true if a function does not belong to PostgreSQL. */
static bool
IsUserDefined(Oid function, void *arg pg_attribute_unused())
{
	return function >= FirstNormalObjectId;
}

/* Tree walker: returns true if an expression may call user-defined functions. */
static bool
CallsUserDefined(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, IsUserDefined, arg) || IsA(node, CoerceToDomain))
		return true;
	return expression_tree_walker(node, CallsUserDefined, arg);
}

/* Find out what a column gets if no value is given. */
static void
DescribeFill(Relation relation, AttrNumber column, ColumnFill *fill)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column - 1);
	Node	   *expression;

	fill->kind = FILL_NULL;
	if (attribute->attisdropped)
		return;
	fill->kind = FILL_UNKNOWN;
	if (attribute->atttypid >= FirstNormalObjectId || get_typtype(attribute->atttypid) == TYPTYPE_DOMAIN ||
		attribute->attidentity != '\0' || attribute->attgenerated != '\0')
		return;
	expression = attribute->atthasdef ? build_column_default(relation, column) : NULL;
	if (expression == NULL)
		fill->kind = FILL_NULL;
	else if (IsA(expression, FuncExpr) && ((FuncExpr *) expression)->funcid == F_NOW)
		fill->kind = FILL_NOW;
	else if (!CallsUserDefined(expression, NULL))
	{
		expression = eval_const_expressions(NULL, expression);
		if (!IsA(expression, Const))
			return;
		fill->kind = ((Const *) expression)->constisnull ? FILL_NULL : FILL_CONSTANT;
		fill->value = ((Const *) expression)->constvalue;
	}
}

/* --- checks --------------------------------------------------------------- */

/* Tree walker: returns true if an expression looks at more than columns of a row. */
static bool
LooksElsewhere(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varattno <= 0;
	return expression_tree_walker(node, LooksElsewhere, arg);
}

/* Returns true if a condition depends on the columns of a row only, and runs no code of an owner. */
static bool
IsSimple(Node *condition)
{
	return !LooksElsewhere(condition, NULL) && !CallsUserDefined(condition, NULL) &&
		!contain_mutable_functions(condition);
}

/*
 * Compile the check constraints; returns false if one of them needs an executor.  A
 * statement would read, plan and compile them each time.
 */
static bool
DescribeChecks(Relation relation, WriteFacts *facts)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;
	int			n = constraints == NULL ? 0 : constraints->num_check;

	if (n == 0)
		return true;
	facts->checks = palloc(sizeof(ExprState *) * n);
	facts->evaluation = CreateStandaloneExprContext();
	for (int i = 0; i < n; i++)
	{
		Node	   *condition = stringToNode(constraints->check[i].ccbin);

		if (!COMPAT_IS_ENFORCED(constraints->check[i]))
			continue;
		if (!IsSimple(condition))
			return false;
		facts->checks[facts->nchecks++] = ExecInitExpr(expression_planner((Expr *) condition), NULL);
	}
	return true;
}

/*
 * Returns true if a row satisfies all checks of its table.  If it does not, the
 * statement that is to write it reports that.
 */
bool
WriteFactsAccept(const WriteFacts *facts, TupleTableSlot *row)
{
	bool		accepted = true;

	if (facts->nchecks == 0)
		return true;
	facts->evaluation->ecxt_scantuple = row;
	for (int i = 0; accepted && i < facts->nchecks; i++)
		accepted = ExecCheck(facts->checks[i], facts->evaluation);
	ResetExprContext(facts->evaluation);
	return accepted;
}

/* Returns true if an update that sets these columns can be done without a statement. */
bool
WriteFactsUpdate(const WriteFacts *facts, const AttrNumber *columns, int n)
{
	if (facts->watched == NULL)
		return true;
	for (int i = 0; i < n; i++)
		if (bms_is_member(columns[i], facts->watched))
			return false;
	return true;
}

/* --- tables --------------------------------------------------------------- */

/* Returns true if statements must not give values for a column: it is GENERATED ALWAYS. */
static bool
RefusesValues(Relation relation)
{
	for (int i = 0; i < RelationGetNumberOfAttributes(relation); i++)
		if (TupleDescAttr(RelationGetDescr(relation), i)->attidentity == ATTRIBUTE_IDENTITY_ALWAYS)
			return true;
	return false;
}

/* Returns true if writing a row sets no other value of it and changes no other row. */
static bool
IsPlain(Relation relation)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	return relation->rd_rel->relkind == RELKIND_RELATION && relation->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!relation->rd_rel->relhasrules && !relation->rd_rel->relispartition && !RefusesValues(relation) &&
		(constraints == NULL || !constraints->has_generated_stored);
}

/* Find out all about a table. */
static WriteFacts *
Describe(Relation relation)
{
	WriteFacts *facts = palloc0(sizeof(WriteFacts));
	int			ncolumns = RelationGetNumberOfAttributes(relation);

	if (!IsPlain(relation))
		return facts;
	facts->deletes = true;
	facts->inserts = facts->updates = DescribeIndexes(relation, facts) && DescribeChecks(relation, facts);
	DescribeTriggers(relation, facts);
	if (!facts->inserts)
		return facts;
	facts->fills = palloc(sizeof(ColumnFill) * ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		DescribeFill(relation, i + 1, &facts->fills[i]);
		facts->nunknown += facts->fills[i].kind == FILL_UNKNOWN;
	}
	return facts;
}

/*
 * Replace the facts of a table.  Old ones may still be in use by a call that
 * waits for this one, so they are released at the end of the transaction.
 */
static void
Keep(Oid relation, WriteFacts *facts, MemoryContext context, uint64 since)
{
	KnownTable *entry = Know(relation);

	if (entry->context != NULL)
		MemoryContextSetParent(entry->context, TopTransactionContext);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry->facts = facts;
	entry->context = context;
	entry->changes = since;
}

/* Returns what is known about an open table, which the caller has locked to write. */
const WriteFacts *
WriteFactsOf(Relation relation)
{
	Oid			id = RelationGetRelid(relation);
	KnownTable *entry = Know(id);
	uint64		since = KeyAccessChanges();
	MemoryContext context;
	MemoryContext saved;
	WriteFacts *facts;

	if (entry->changes == since)
		return entry->facts;
	KeyAccessWatch(id);
	context = AllocSetContextCreate(CurrentMemoryContext, "dms facts about a table",
									ALLOCSET_SMALL_SIZES);
	saved = MemoryContextSwitchTo(context);
	facts = Describe(relation);
	MemoryContextSwitchTo(saved);
	Keep(id, facts, context, since);
	return facts;
}
