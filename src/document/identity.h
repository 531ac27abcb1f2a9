/*
 * identity.h
 *		ReferentialIds of bodies and references.
 */
#ifndef DMS_IDENTITY_H
#define DMS_IDENTITY_H

#include "postgres.h"

#include "document/flatten.h"

extern void IdentityCompute(FlatDocument *flat, JNode *body);
extern void IdentityOfReference(ReferenceUse *use);
extern void IdentityHash(const ResourceModel *model, char **values,
						 pg_uuid_t *primary, pg_uuid_t *alias);
extern bool IdentityOfDescriptor(const ReferenceUse *use, int member,
								 pg_uuid_t *referential_id);

#endif							/* DMS_IDENTITY_H */
