/*
 * apiread.h
 *		Typed access to ApiSchema objects that collects problems.
 */
#ifndef DMS_APIREAD_H
#define DMS_APIREAD_H

#include "postgres.h"

#include "base/jsontree.h"
#include "base/report.h"
#include "nodes/pg_list.h"

extern const JNode *ApiReadNode(const JNode *object, const char *name,
								JNodeKind kind, bool required,
								const char *place, Problem *problems);
extern const char *ApiReadText(const JNode *object, const char *name,
							   bool required, const char *place, Problem *problems);
extern bool ApiReadBool(const JNode *object, const char *name,
						const char *place, Problem *problems);
extern int	ApiReadInt(const JNode *object, const char *name, int absent,
					   const char *place, Problem *problems);
extern List *ApiReadTexts(const JNode *object, const char *name,
						  const char *place, Problem *problems);
extern bool ApiReadCheckPath(const char *path, const char *what,
							 const char *place, Problem *problems);
extern bool ApiReadObject(const JNode *node, const char *const *known,
						  const char *place, Problem *problems);

#endif							/* DMS_APIREAD_H */
