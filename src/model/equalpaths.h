/*
 * equalpaths.h
 *		Paths whose values equality constraints make equal.
 */
#ifndef DMS_EQUALPATHS_H
#define DMS_EQUALPATHS_H

#include "postgres.h"

#include "model/model.h"

extern const char **EqualPaths(const ResourceModel *model, const char *path, int *n);
extern bool EqualPathsConnected(const ResourceModel *model, const char *left, const char *right);
extern bool EqualPathsAlways(const ResourceModel *model, const char *left, const char *right);
extern bool EqualPathsAreTied(const ResourceModel *model, const QueryModel *query);
extern const QueryModel *EqualPathsFieldOf(const ResourceModel *model, const char *path);
extern const char *EqualPathsFieldName(const ResourceModel *model, const char *path);

#endif							/* DMS_EQUALPATHS_H */
