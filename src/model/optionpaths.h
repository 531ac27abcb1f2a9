/*
 * optionpaths.h
 *		Options of a resource that name places of its documents.
 */
#ifndef DMS_OPTIONPATHS_H
#define DMS_OPTIONPATHS_H

#include "postgres.h"

#include "model/model.h"
#include "utils/jsonb.h"

#define OPTION_GENERATED_ID "generatedId"
#define OPTION_TITLE "title"
#define OPTION_CONTENT "content"
#define OPTION_SEARCH "search"

/* Takes a contradiction between an option and a model; the message is a sentence. */
typedef void (*OptionFault) (void *arg, const char *option, const char *message);

extern bool OptionPathTake(JsonbValue *value);
extern bool OptionPathsTake(JsonbValue *value);
extern bool OptionPathFind(Jsonb *options, const char *key, JsonbValue *value);
extern int	OptionPathColumn(Jsonb *options, const char *key, const ResourceModel *model);
extern int	OptionPathColumns(Jsonb *options, const char *key, const ResourceModel *model, int *columns);
extern void OptionPathsCheck(Jsonb *options, const ResourceModel *model, OptionFault fault, void *arg);
extern Jsonb *OptionPathsKeepFitting(Jsonb *options, const ResourceModel *model);

/* The most paths that an option can list. */
#define OPTION_MAX_PATHS 16

#endif							/* DMS_OPTIONPATHS_H */
