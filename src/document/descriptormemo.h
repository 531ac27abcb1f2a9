/*
 * descriptormemo.h
 *		What a session remembers of the descriptors that bodies name.
 */
#ifndef DMS_DESCRIPTORMEMO_H
#define DMS_DESCRIPTORMEMO_H

#include "postgres.h"

#include "utils/uuid.h"

extern bool DescriptorMemoFind(const char *project, const char *resource, const char *uri, int length,
							   pg_uuid_t *id);
extern void DescriptorMemoKeep(const char *project, const char *resource, const char *uri, int length,
							   const pg_uuid_t *id);
extern int64 DescriptorMemoGuess(const pg_uuid_t *id);
extern bool DescriptorMemoHolds(void);
extern void DescriptorMemoLearn(const pg_uuid_t *id, int64 document_id);

#endif							/* DMS_DESCRIPTORMEMO_H */
