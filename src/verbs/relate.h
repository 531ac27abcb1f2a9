/*
 * relate.h
 *		Relations between documents: parents and collections.
 */
#ifndef DMS_RELATE_H
#define DMS_RELATE_H

#include "postgres.h"

#include "utils/uuid.h"

extern bool RelateSetParent(const pg_uuid_t *child, const pg_uuid_t *parent);
extern bool RelateAddMember(const pg_uuid_t *collection, const pg_uuid_t *member, bool conveys);
extern bool RelateRemoveMember(const pg_uuid_t *collection, const pg_uuid_t *member);

#endif							/* DMS_RELATE_H */
