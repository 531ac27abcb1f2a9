/*
 * uniquekeys.h
 *		Rows of dms.UniqueKeyValue: values that were claimed.
 */
#ifndef DMS_UNIQUEKEYS_H
#define DMS_UNIQUEKEYS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "model/model.h"

/* The longest key in characters, and the longest value in bytes. */
#define UNIQUE_KEY_MAX 256
#define UNIQUE_VALUE_MAX 2000

/* A value that is unique among the documents of a type. */
typedef struct UniqueKey
{
	const char *type;
	const char *key;
	const char *value;
} UniqueKey;

/* The row of such a value. */
typedef struct UniqueKeyRow
{
	int64		document_id;	/* 0: it is reserved */
	TimestampTz created;
	TimestampTz updated;
	const char *value;			/* only in lists */
} UniqueKeyRow;

extern void UniqueKeysRename(const char *from, const char *to);
extern bool UniqueKeysHaveKey(const char *type, const char *key);
extern bool UniqueKeysHave(int64 document_id);
extern int64 UniqueKeysCount(const int64 *ids, int n);
extern bool UniqueKeysRead(const UniqueKey *key, UniqueKeyRow *row);
extern UniqueKeyRow *UniqueKeysList(const UniqueKey *from, int limit, int *n);
extern bool UniqueKeysReadDeclared(const TableModel *root, int column, Datum value, UniqueKeyRow *row);
extern UniqueKeyRow *UniqueKeysListDeclared(const TableModel *root, int column, const char *from, int limit, int *n);
extern bool UniqueKeysTake(const UniqueKey *key, int64 document_id);
extern bool UniqueKeysRelease(const UniqueKey *key);

#endif							/* DMS_UNIQUEKEYS_H */
