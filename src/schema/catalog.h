/*
 * catalog.h
 *		The tables of some schemas as they are in the database.
 */
#ifndef DMS_CATALOG_H
#define DMS_CATALOG_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct CatalogColumn
{
	int			number;
	char	   *name;
	char	   *type;			/* as in DDL */
	bool		not_null;
	char	   *comment;		/* NULL: none */
} CatalogColumn;

/* A primary, unique or foreign key. */
typedef struct CatalogKey
{
	char	   *name;
	char		type;			/* 'p', 'u' or 'f' */
	CatalogColumn **columns;
	int			ncolumns;
	Oid			target;			/* foreign keys: the table */
	bool		cascades;		/* foreign keys: rows are deleted with the
								 * target's */
	bool		plain;			/* nothing else about it is special */
	bool		deferrable;
	bool		nulls_not_distinct;
	bool		valid;
} CatalogKey;

/* An index that belongs to no key. */
typedef struct CatalogIndex
{
	char	   *name;
	CatalogColumn *column;		/* NULL: not one that a deploy creates */
	bool		hash;
	bool		partial;		/* only rows that have a value */
	bool		valid;
} CatalogIndex;

/* A column that a view reads. */
typedef struct CatalogUse
{
	Oid			table;
	int			column;			/* its number */
} CatalogUse;

/* A right that the owner of a view gave to another role. */
typedef struct CatalogRight
{
	char	   *privilege;
	char	   *grantee;		/* as SQL, with options */
} CatalogRight;

typedef struct CatalogTable
{
	Oid			oid;
	Oid			owner;
	char	   *schema;
	char	   *name;
	char		kind;			/* as in pg_class */
	char	   *comment;		/* NULL: none */
	List	   *columns;		/* CatalogColumn */
	List	   *keys;			/* CatalogKey */
	List	   *indexes;		/* CatalogIndex */
	List	   *uses;			/* views: CatalogUse */
	List	   *rights;			/* views: CatalogRight, of others */
} CatalogTable;

typedef struct Catalog
{
	List	   *tables;			/* CatalogTable, by oid */
} Catalog;

extern Catalog *CatalogRead(const char *const *schemas, int n);
extern CatalogTable *CatalogFind(const Catalog *catalog, const char *schema, const char *name);
extern CatalogColumn *CatalogFindColumn(const CatalogTable *table, const char *name);
extern CatalogKey *CatalogFindKey(const CatalogTable *table, const char *name);
extern CatalogIndex *CatalogFindIndex(const CatalogTable *table, const char *name);
extern bool CatalogViewUses(const CatalogTable *view, Oid table, int column);
extern char *CatalogTableName(const CatalogTable *table);
extern bool CatalogSameComment(const char *found, const char *wanted);
extern bool CatalogHasFunction(const char *statement, const char *name);

#endif							/* DMS_CATALOG_H */
