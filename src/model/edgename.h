/*
 * edgename.h
 *		Keys and ids of edge sources.
 */
#ifndef DMS_EDGENAME_H
#define DMS_EDGENAME_H

#include "postgres.h"

extern char *EdgeNameKey(const char *project, const char *resource,
						 bool descriptor, const char *path);
extern int64 EdgeNameId(const char *project, const char *resource,
						bool descriptor, const char *path);

#endif							/* DMS_EDGENAME_H */
