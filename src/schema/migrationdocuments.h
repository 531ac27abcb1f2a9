/*
 * migrationdocuments.h
 *		Documents whose resources the new schema does not have, or has under other
 *		names.
 */
#ifndef DMS_MIGRATIONDOCUMENTS_H
#define DMS_MIGRATIONDOCUMENTS_H

#include "postgres.h"

#include "schema/migrationplan.h"

extern char *MigrationDocumentsOf(const char *names);
extern char *MigrationDocumentsDelete(const char *condition);
extern void MigrationDocumentsPlanFreed(MigrationPlan *plan, const char *documents);
extern void MigrationDocumentsPlan(MigrationPlan *plan, List *trigger_statements);

#endif							/* DMS_MIGRATIONDOCUMENTS_H */
