/*
 * schemadiff.h
 *		Which resources, tables and columns of a schema were which in the one
 *		before it.
 */
#ifndef DMS_SCHEMADIFF_H
#define DMS_SCHEMADIFF_H

#include "postgres.h"

#include "schema/modelset.h"
#include "schema/renames.h"

/* A table that the new schema has. */
typedef struct TableDiff
{
	const TableModel *before;	/* NULL: new */
	const TableModel *after;
	int		   *columns;		/* per column: which one it was; -1: new */
} TableDiff;

/* A resource that one of the schemas has, or both. */
typedef struct ResourceDiff
{
	const ModelEntry *before;	/* NULL: new */
	const ModelEntry *after;	/* NULL: removed */
	TableDiff  *tables;			/* as the tables of after */
} ResourceDiff;

typedef struct SchemaDiff
{
	const ModelSet *before;
	const ModelSet *after;
	List	   *resources;		/* ResourceDiff: those of after, then removed
								 * ones */
} SchemaDiff;

extern SchemaDiff *SchemaDiffMake(const ModelSet *before, const ModelSet *after, List *renames);
extern char *SchemaDiffName(const ModelEntry *entry);
extern ResourceDiff *SchemaDiffOf(const SchemaDiff *diff, const char *project, const char *resource);
extern ResourceDiff *SchemaDiffOfBefore(const SchemaDiff *diff, const char *project, const char *resource);
extern bool SchemaDiffKeepsTable(const ResourceDiff *resource, const TableModel *before);
extern bool SchemaDiffKeepsColumn(const TableDiff *table, int before);
extern bool SchemaDiffIsRenamed(const ResourceDiff *resource);
extern bool SchemaDiffSameTarget(const SchemaDiff *diff, const ReferenceModel *before, const ReferenceModel *after);
extern bool SchemaDiffSameIdentity(const SchemaDiff *diff, const ResourceDiff *resource);
extern bool SchemaDiffSameSuperclass(const SchemaDiff *diff, const ResourceDiff *resource);

#endif							/* DMS_SCHEMADIFF_H */
