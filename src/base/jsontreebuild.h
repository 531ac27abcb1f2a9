/*
 * jsontreebuild.h
 *		A jsonb value as a tree of nodes.
 */
#ifndef DMS_JSONTREEBUILD_H
#define DMS_JSONTREEBUILD_H

#include "postgres.h"

#include "base/jsontree.h"
#include "utils/jsonb.h"

extern JNode *JsonTreeBuild(Jsonb *json);

#endif							/* DMS_JSONTREEBUILD_H */
