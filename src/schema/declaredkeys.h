/*
 * declaredkeys.h
 *		Unique keys that the options of a resource declare.
 */
#ifndef DMS_DECLAREDKEYS_H
#define DMS_DECLAREDKEYS_H

#include "postgres.h"

#include "base/report.h"
#include "model/model.h"
#include "utils/jsonb.h"

extern char *DeclaredKeyConstraint(const ResourceModel *model, int column);
extern const char *DeclaredKeyName(const char *path);
extern List *DeclaredKeysMissing(const ResourceModel *model, Jsonb *options);
extern List *DeclaredKeysSurplus(const ResourceModel *model, Jsonb *before, Jsonb *after);
extern void DeclaredKeysCheckRows(const ResourceModel *model, Jsonb *options, Problem *problem);
extern char *DeclaredKeysView(const ResourceModel *model, Jsonb *options);
extern char *DeclaredKeysNoView(void);

#endif							/* DMS_DECLAREDKEYS_H */
