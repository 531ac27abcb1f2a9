/*
 * flatten.h
 *		A canonical body as rows and references.
 */
#ifndef DMS_FLATTEN_H
#define DMS_FLATTEN_H

#include "postgres.h"

#include "base/jsontree.h"
#include "engine/storedrows.h"
#include "model/model.h"
#include "utils/uuid.h"

/*
 * One reference in a body.  The foreign-key column and the edge are both made
 * from it, so neither can exist without the other.
 */
typedef struct ReferenceUse
{
	const ReferenceModel *reference;
	JNode	   *node;			/* the reference in the body */
	int			row;			/* in the table of the reference */
	pg_uuid_t	referential_id;
	int64		document_id;	/* 0 if not resolved */
	bool		own;			/* the document refers to itself */
	bool		settled;		/* the call locks the target's identity for
								 * update */
	bool		later;			/* to be resolved when followers are known */
	bool		guessed;		/* document_id is where it led before */
} ReferenceUse;

/* A body as rows, references and identity. */
typedef struct FlatDocument
{
	const ResourceModel *model;
	RowSet	   *tables;			/* as model->tables; values as their columns */
	ReferenceUse *uses;
	int			nuses;
	pg_uuid_t	primary;		/* ReferentialId */
	pg_uuid_t	alias;			/* ReferentialId under the superclass */
	char	  **identity;		/* values, as model->identity */
} FlatDocument;

extern FlatDocument *Flatten(const ResourceModel *model, JNode *body);
extern void FlattenSetIds(FlatDocument *flat, int64 document_id);

#endif							/* DMS_FLATTEN_H */
